#pragma once
// What every workload's command does with its sweep.

#include <functional>

#include "command.hpp"
#include "run/session.hpp"

namespace tessera::apps {

struct Sweep {
  const mpi::Communicator& comm;
  const run::OptionSet& set;
  const run::Parsed& parsed;
  const Arguments& arguments;
};

/// Everything that a point of a workload is run with.
template <class Request, class Inputs>
struct PointOf {
  const mpi::Communicator& comm;
  const run::Values& values;
  const Request& request;
  const Inputs& inputs;
  run::Session& session;
};

/// What a command can do with a point; all are called on every rank.
struct PointActions {
  std::function<void(const run::Values&, run::Session&)> plan;  ///< prints it
  std::function<bool(const run::Values&, run::Session&)> run;   ///< whether the result is right
  /// What the --ranks of the point would take, so many on a node.
  std::function<Need(const run::Values&, const run::Ceilings&, index_t ranks_per_node)> need = {};
};

/// Plans every point (--plan), or runs those that the results file does not hold yet and prints the table.
/// Collective.
[[nodiscard]] ExitCode run_points(const Sweep& sweep, const PointActions& actions);

/// What is done on all ranks once MPI is there.
using Actions = std::function<PointActions(const mpi::Communicator&)>;

/// The command of a workload. `look` runs before MPI is initialised: it ends wrong requests and looks at
/// inputs. The options live as long as the program.
[[nodiscard]] Command workload_command(const run::OptionSet& set, std::function<Actions(run::Parsed&)> look);

}  // namespace tessera::apps
