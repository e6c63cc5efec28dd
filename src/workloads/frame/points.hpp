#pragma once
// The points of a request, to be planned or run one after the other.

#include <string>
#include <vector>

#include "workloads/frame/workload.hpp"

namespace tessera::inline v1::workloads {

struct SweepRequest {
  const mpi::Communicator& comm;
  const Workload& workload;
  const run::Parsed& parsed;
  const std::vector<std::string>& arguments;
};

/// Returns the points of the request, those of its --part. Throws Error(usage).
[[nodiscard]] std::vector<run::Values> points_of(const run::OptionSet& options,
                                                 const run::Parsed& parsed);

/// Refuses inconsistent outputs, --resume and --ranks. Throws Error(usage). Precondition: MPI is
/// not initialised.
void check_request(const Workload& workload, const run::Parsed& parsed);

/// Installs signal handlers under which a run keeps complete partial results. Precondition: MPI is
/// not initialised.
void take_stop_signals(const Workload& workload, const run::Parsed& parsed);

/// A part of a sweep: a request, and what is done with its points.
struct PartRequest {
  const run::Parsed* parsed;
  PointActions actions;
};

/// Plans every point (--plan), or runs the points that the results file lacks and prints the table.
/// The points are those of the parts, in order; the request of the sweep has the columns and the
/// results of all. Collective.
[[nodiscard]] ExitCode run_points(const SweepRequest& sweep, const std::vector<PartRequest>& parts);

/// A workload's request for one input file (run::each_file()), inspected.
struct FileRequest {
  run::Parsed parsed;
  Resolve resolve;
};

/// As above, for a workload's points. Throws AgreedError if the ranks see other files. Collective.
[[nodiscard]] ExitCode run_points(const SweepRequest& sweep, const std::vector<FileRequest>& each);

/// Returns the needs of every point for that number of ranks per node. Collective.
[[nodiscard]] std::vector<Need> needs_of(const SweepRequest& sweep,
                                         const std::vector<FileRequest>& each,
                                         index_t ranks_per_node);

}  // namespace tessera::inline v1::workloads
