#pragma once
// The sub-commands.

#include <functional>
#include <string>
#include <vector>

#include "run/program.hpp"
#include "workloads/frame/workload.hpp"

namespace tessera::apps {

using run::Arguments;
using run::Body;
using run::Command;
using run::Planner;
using run::Runs;

/// The command of a workload. `look` runs before MPI is initialised: it ends wrong requests and
/// looks at inputs.
[[nodiscard]] Command workload_command(const workloads::Workload& workload,
                                       std::function<workloads::Resolve(run::Parsed&)> look);

[[nodiscard]] Command matmul_command();
[[nodiscard]] Command transpose_command();
[[nodiscard]] Command stencil_command();
[[nodiscard]] Command sort_command();
[[nodiscard]] Command locality_command();
[[nodiscard]] Command scalability_command();
[[nodiscard]] Command memory_command();
[[nodiscard]] Command list_command();
[[nodiscard]] Command machine_command();
[[nodiscard]] Command verify_command();
[[nodiscard]] Command report_command();
[[nodiscard]] Command slurm_command();
[[nodiscard]] Command compare_command();
[[nodiscard]] Command rerun_command();
[[nodiscard]] Command export_command();
[[nodiscard]] Command doctor_command();

/// $TESSERA_PYTHON, the python3 of the PATH, or the system's: the first that has the modules ("h5py
/// numpy"). Throws Error(usage).
[[nodiscard]] std::string find_python(const std::string& modules);
[[nodiscard]] std::string general_help(const std::vector<Command>& commands);

}  // namespace tessera::apps
