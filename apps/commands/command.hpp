#pragma once
// The sub-commands.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "run/program.hpp"
#include "workloads/frame/workload.hpp"

namespace tessera::apps {

using run::Arguments;
using run::Body;
using run::Command;
using run::Planner;
using run::RankScope;

/// Returns the command of a workload. `look` runs before MPI is initialised: it throws on invalid
/// requests and inspects inputs.
[[nodiscard]] Command workload_command(const workloads::Workload& workload,
                                       std::function<workloads::Resolve(run::Parsed&)> look);

/// The sub-commands, in the order of the help; NAME_command() makes each.
// clang-format off
#define TESSERA_COMMANDS(COMMAND) \
  COMMAND(matmul) COMMAND(transpose) COMMAND(stencil) COMMAND(sort) \
  COMMAND(locality) COMMAND(scalability) COMMAND(memory) COMMAND(list) \
  COMMAND(machine) COMMAND(verify) COMMAND(report) COMMAND(compare) \
  COMMAND(rerun) COMMAND(export) COMMAND(doctor) COMMAND(slurm) COMMAND(help)
// clang-format on

#define TESSERA_DECLARE(name) [[nodiscard]] Command name##_command();
TESSERA_COMMANDS(TESSERA_DECLARE)
#undef TESSERA_DECLARE

/// Returns $TESSERA_PYTHON, the python3 of the PATH, or the system's: the first that has the
/// modules ("h5py numpy"). Throws Error(usage).
[[nodiscard]] std::string find_python(const std::string& modules);
/// The table of the sub-commands.
[[nodiscard]] std::span<const run::CommandRow> command_rows();
[[nodiscard]] std::string general_help(const std::vector<Command>& commands);

}  // namespace tessera::apps
