#pragma once
// tessera scalability: work and span of kernels, compared with measured speed-ups.

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "machine/work_span.hpp"
#include "run/options.hpp"
#include "run/session.hpp"

namespace tessera::inline v1::scalability {

/// Kernel with its data, repeatable.
struct Program {
  std::function<void()> prepare = [] {};  ///< untimed
  std::function<void(int threads)> run;   ///< starts its own team
  std::function<run::Verdict()> check;
  double work = 0;  ///< per run, in the units of the rate
  std::string rate_units;
  std::string ceiling = {};
  std::string growth = {};  ///< of the parallelism with n, if known from theory
  double theory = 0;        ///< the growth's value at this n
};

/// Returns the supported workloads.
[[nodiscard]] const std::vector<std::string>& workloads();

/// Completes a point with the kernel's defaults (n, threshold, type). Throws Error(usage) for
/// unknown kernels and unsupported settings.
[[nodiscard]] run::Values completed(const run::Values& point);

/// Records, measures and prints a request's points and adds them to the results. Returns an error
/// code if a check failed. Collective.
[[nodiscard]] ExitCode run_all(const mpi::Communicator& comm, const run::OptionSet& set,
                               run::Parsed parsed, const std::vector<std::string>& arguments);

/// Allocates and fills the data of a completed point.
[[nodiscard]] Program make_program(const run::Values& point);
/// Returns the point of a problem with 1/parts of this one's data.
[[nodiscard]] run::Values part_of(const run::Values& point, int parts);
/// Returns the slowdown of a core that computes a part of the point's problem while threads - 1
/// others compute theirs: the upper end of the median's interval.
[[nodiscard]] double contention(const run::Values& point, int threads, index_t repetitions);
/// Returns the memory of make_program(), bytes.
[[nodiscard]] double bytes_of(const run::Values& point);

/// Returns simulated counts, for machines without hardware counters.
[[nodiscard]] run::Counted simulated_counts(const run::Values& point);

/// Measured speed-up against one thread: ratio of the medians, and the range of ratios of their
/// intervals.
struct Speedup {
  double seconds = NAN;  ///< median of the run; all NaN if not measured
  double median = NAN, low = NAN, high = NAN;
  double waited = NAN;  ///< share of the threads' time during which others used their cores
};

/// Work, span and bounds from a recording of the kernel as it forks for `processors` processors,
/// and the measured speed-up.
struct SpeedupForecast {
  int processors;
  machine::WorkSpan found;
  machine::TaskCosts costs;
  machine::SpeedupBounds bounds;
  Speedup measured;
  double contention = NAN;  ///< slowdown of cores when all compute; NaN if not measured
  /// Returns the lower bound with contention.
  [[nodiscard]] double least() const {
    return std::isnan(contention) ? bounds.lower : bounds.lower / contention;
  }
  /// Returns the interval's position: "between" least() and the upper bound, "below" or "above"
  /// them; "busy" for below while others used the cores, which violates the bound's assumption; ""
  /// if not measured.
  [[nodiscard]] std::string place() const;
};

/// Returns the tables and sentences of a problem for a terminal of this many columns.
[[nodiscard]] std::string text_of(const run::Values& point, const Program& program,
                                  const std::vector<SpeedupForecast>& forecasts,
                                  std::size_t columns);
[[nodiscard]] io::TableRows rows_of(const run::Values& point, const Program& program,
                                    const std::vector<SpeedupForecast>& forecasts);

}  // namespace tessera::inline v1::scalability
