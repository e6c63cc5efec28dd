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

/// The sub-commands, in the order of the help, each with its page of the manual; NAME_command()
/// makes it.
// clang-format off
#define TESSERA_COMMANDS(COMMAND) \
  COMMAND(matmul, "matmul.md") COMMAND(transpose, "transpose.md") \
  COMMAND(stencil, "stencil.md") COMMAND(sort, "sort.md") \
  COMMAND(locality, "laboratory.md") COMMAND(scalability, "laboratory.md") \
  COMMAND(forkjoin, "laboratory.md") COMMAND(memory, "laboratory.md") \
  COMMAND(analyse, "performance.md") \
  COMMAND(info, "files.md") \
  COMMAND(list, "getting_started.md") \
  COMMAND(machine, "performance.md") COMMAND(verify, "files.md") \
  COMMAND(study, "laboratory.md") \
  COMMAND(report, "results.md") COMMAND(compare, "results.md") \
  COMMAND(rerun, "results.md") COMMAND(export, "results.md") \
  COMMAND(doctor, "troubleshooting.md") COMMAND(slurm, "clusters.md") \
  COMMAND(help, "getting_started.md")
// clang-format on

#define TESSERA_DECLARE(name, page) [[nodiscard]] Command name##_command();
TESSERA_COMMANDS(TESSERA_DECLARE)
#undef TESSERA_DECLARE

/// Returns $TESSERA_PYTHON, the python3 of the PATH, or the system's: the first that has the
/// modules ("h5py numpy"). Throws Error(usage).
[[nodiscard]] std::string find_python(const std::string& modules);
/// The table of the sub-commands.
[[nodiscard]] std::span<const run::CommandRow> command_rows();
[[nodiscard]] std::string general_help(const std::vector<Command>& commands);

}  // namespace tessera::apps
