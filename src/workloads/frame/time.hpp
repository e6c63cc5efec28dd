#pragma once
// The time of a run as typed, by phase, from the work of a planned point and the measured ceilings.

#include <string>
#include <utility>
#include <vector>

#include "workloads/frame/workload.hpp"

namespace tessera::inline v1::workloads {

/// What a run of a point takes.
struct RunTime {
  std::vector<std::pair<std::string, double>> phases;  ///< seconds, in order; empty: unknown
  std::vector<std::string> unknown;                    ///< phases whose rates were not measured
  /// Returns the sum; -1 if the time of a repetition is unknown.
  [[nodiscard]] double total() const;
};

/// The size of the job that runs a point.
struct JobSize {
  index_t ranks = 1;
  index_t ranks_per_node = 1;
  index_t warmups = 0, repetitions = 1;
  double start = 0;  ///< processor seconds of starting the program
};

/// Returns the time of a point on `threads` threads a rank. `repetition` is in seconds; negative:
/// unknown.
[[nodiscard]] RunTime time_of(const Volumes& volumes, double repetition,
                              const run::Ceilings& ceilings, const JobSize& job, int threads);

/// Returns "predicted time of the run: 3.2 s: start 0.1 s, ...", and the phases that it lacks, in
/// lines of at most `columns`.
[[nodiscard]] std::string text_of(const RunTime& time, std::size_t columns);

}  // namespace tessera::inline v1::workloads
