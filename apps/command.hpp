#pragma once
// What main knows of a sub-command.

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"
#include "workloads/frame/workload.hpp"

namespace tessera::apps {

using Arguments = std::vector<std::string>;
/// What runs on all ranks once MPI is there.
using Body = std::function<ExitCode(const mpi::Communicator&)>;

/// What every point of a request takes; runs on one rank.
using Planner = std::function<std::vector<workloads::Need>(const mpi::Communicator&)>;

/// Who does a command's work where a launcher started several ranks.
enum class Runs {
  on_all,      ///< the ranks share it
  on_one,      ///< rank 0, once all ranks were told the same
  without_mpi  ///< rank 0, though MPI may not start here
};

struct Command {
  run::OptionSet options;
  /// Runs before MPI is initialised (children may be spawned, wrong requests end here), but for what runs on
  /// one of several ranks; an empty body means that the command has done its work, and `code` is its exit
  /// code.
  std::function<Body(const run::Parsed&, const Arguments&, ExitCode& code)> prepare;
  Runs runs = Runs::on_all;
  /// Of a workload: the same for a plan of the --ranks in the request, so many a node. Before MPI, too.
  std::function<Planner(const run::Parsed&, index_t ranks_per_node)> plan = {};
};

/// The command of a workload. `look` runs before MPI is initialised: it ends wrong requests and looks at
/// inputs.
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

/// $TESSERA_PYTHON, the python3 of the PATH, or the system's: the first that has the modules ("h5py numpy").
/// Throws Error(usage).
[[nodiscard]] std::string find_python(const std::string& modules);
[[nodiscard]] std::string general_help(const std::vector<Command>& commands);

}  // namespace tessera::apps
