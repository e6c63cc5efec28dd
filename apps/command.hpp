#pragma once
// What main knows of a sub-command.

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::apps {

using Arguments = std::vector<std::string>;
/// What runs on all ranks once MPI is there.
using Body = std::function<ExitCode(const mpi::Communicator&)>;

struct Command {
  run::OptionSet options;
  /// Runs before MPI is initialised (children may be spawned, wrong requests end here); an empty body means
  /// the command has done its work alone, and `code` is its exit code.
  std::function<Body(const run::Parsed&, const Arguments&, ExitCode& code)> prepare;
};

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
[[nodiscard]] Command compare_command();
[[nodiscard]] Command rerun_command();
[[nodiscard]] Command export_command();
[[nodiscard]] Command doctor_command();

/// $TESSERA_PYTHON, the python3 of the PATH, or the system's: the first that has the modules ("h5py numpy").
/// Throws Error(usage).
[[nodiscard]] std::string find_python(const std::string& modules);
[[nodiscard]] std::string general_help(const std::vector<Command>& commands);

}  // namespace tessera::apps
