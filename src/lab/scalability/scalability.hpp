#pragma once
// tessera scalability: work and span of kernels beside their measured speed-ups.

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "machine/work_span.hpp"
#include "run/options.hpp"
#include "run/session.hpp"

namespace tessera::scalability {

/// One kernel with its data, ready to run again and again.
struct Program {
  std::function<void()> prepare = [] {};  ///< not part of what is timed
  std::function<void(int threads)> run;   ///< makes its own team
  std::function<run::Verdict()> check;
  double work = 0;  ///< of one run, in the units of the rate
  std::string rate_units;
  std::string ceiling = {};
  std::string growth = {};  ///< of the parallelism with n, where theory knows it
  double theory = 0;        ///< the growth's value at this n
};

/// The workloads whose kernels can be looked at.
[[nodiscard]] const std::vector<std::string>& workloads();

/// Sets what the point leaves open (n, threshold, type) to the kernel's own; throws Error(usage)
/// for a kernel that the workload has not, and for what the kernel cannot do.
[[nodiscard]] run::Values completed(const run::Values& point);

/// Records, measures and prints what a request asks for; its points go to the results. Whether
/// every check passed is the code. Collective.
[[nodiscard]] ExitCode run_all(const mpi::Communicator& comm, const run::OptionSet& set,
                               run::Parsed parsed, const std::vector<std::string>& arguments);

/// Allocates and fills the data of a completed point.
[[nodiscard]] Program make_program(const run::Values& point);
/// The point of a problem whose data is a part of so many of this one's.
[[nodiscard]] run::Values part_of(const run::Values& point, int parts);
/// How many times slower a core computes a part of the point's problem while as many others compute
/// theirs: the upper end of the median's 95 % interval.
[[nodiscard]] double contention(const run::Values& point, int threads, index_t repetitions);
/// Bytes that it will hold.
[[nodiscard]] double bytes_of(const run::Values& point);

/// Where there are no hardware counters.
[[nodiscard]] run::Counted stand_in(const run::Values& point);

/// A measured speed-up against one thread: that of the medians, and what their 95 % intervals
/// allow.
struct Speedup {
  double seconds = NAN;  ///< median of the run on so many threads; all NaN where nobody measured
  double median = NAN, low = NAN, high = NAN;
  double waited = NAN;  ///< share of the threads' time in which others had their cores
};

/// What a recording of the kernel as it forks for so many processors says, and what was measured.
struct SpeedupForecast {
  int processors;
  machine::WorkSpan found;
  machine::TaskCosts costs;
  machine::SpeedupBounds bounds;
  Speedup measured;
  double contention =
      NAN;  ///< cores are so many times slower when all compute; NaN where not measured
  /// The lower bound of cores that slow each other down.
  [[nodiscard]] double least() const {
    return std::isnan(contention) ? bounds.lower : bounds.lower / contention;
  }
  /// "between" least() and the upper bound, "below" or "above" them, by the interval; "busy" for
  /// below where others had the cores, which breaks the bound's assumption; "" where not measured.
  [[nodiscard]] std::string place() const;
};

[[nodiscard]] std::string text_of(const run::Values& point, const Program& program,
                                  const std::vector<SpeedupForecast>& forecasts);
[[nodiscard]] io::TableRows rows_of(const run::Values& point, const Program& program,
                                    const std::vector<SpeedupForecast>& forecasts);

}  // namespace tessera::scalability
