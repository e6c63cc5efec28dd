#pragma once
// The points of a request: planned, or run one after the other.

#include <string>
#include <vector>

#include "workloads/frame/workload.hpp"

namespace tessera::workloads {

struct Sweep {
  const mpi::Communicator& comm;
  const Workload& workload;
  const run::Parsed& parsed;
  const std::vector<std::string>& arguments;
};

/// The points of the request, those of its --part. Throws Error(usage).
[[nodiscard]] std::vector<run::Values> points_of(const run::OptionSet& options,
                                                 const run::Parsed& parsed);

/// Refuses outputs, --resume and --ranks that do not go together. Before MPI is initialised.
/// Throws Error(usage).
void check_request(const Workload& workload, const run::Parsed& parsed);

/// Has signals end a run so that what it keeps on its way is whole. Before MPI is initialised.
void take_stop_signals(const Workload& workload, const run::Parsed& parsed);

/// Plans every point (--plan), or runs those that the results file does not hold yet and prints the
/// table. Collective.
[[nodiscard]] ExitCode run_points(const Sweep& sweep, const PointActions& actions);

/// The same of a workload's points.
[[nodiscard]] ExitCode run_points(const Sweep& sweep, const Resolve& resolve);

/// What every point takes on so many ranks a node. Collective.
[[nodiscard]] std::vector<Need> needs_of(const Sweep& sweep, const Resolve& resolve,
                                         index_t ranks_per_node);

}  // namespace tessera::workloads
