#pragma once
// tessera forkjoin: one probe recorded, scheduled and replayed for several numbers of workers.

#include <optional>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "io/results.hpp"
#include "lab/forkjoin/programs.hpp"
#include "lab/forkjoin/replay.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::microscope {

struct Request {
  const Program* program;
  std::optional<index_t> n;  ///< none: all sizes of the program, work and span only
  index_t threshold;
  std::vector<int> processors, threads;
  std::uint64_t seed = 1;
  std::optional<Caches> caches;  ///< none: no accesses are replayed
  bool draws = false;
  index_t repetitions = 5;
};

/// One size of a probe.
struct Size {
  index_t n;
  Computation all;
};

/// A schedule, its traffic, and the time measured on as many threads, seconds.
struct Execution {
  Schedule schedule;
  std::optional<Traffic> traffic;
  std::optional<Summary> seconds;
};

struct Study {
  Request request;
  std::vector<Size> sizes;            ///< the last one is executed
  std::optional<Traffic> serial;      ///< traffic of one worker
  std::vector<Execution> executions;  ///< by number of processors; none where only sizes are asked

  [[nodiscard]] const Computation& all() const { return sizes.back().all; }
};

/// Throws Error(usage) for sizes that cannot be recorded, Error(verification) for wrong results.
[[nodiscard]] Study examine(const Request& request);

/// Upper bounds of the strands that are printed, and stored for the report, one by one.
inline constexpr index_t most_drawn = 400, most_stored = 20000;
/// Returns the graph as an indented list, with * on its longest path.
[[nodiscard]] std::string drawn(const Computation& all);

/// Returns the sentences and tables of a study of one size for a terminal of this many columns.
[[nodiscard]] std::string text_of(const Study& study, std::size_t columns);
/// Returns the table of work and span of several studies.
[[nodiscard]] std::string growth_of(const std::vector<Study>& studies, std::size_t columns);
/// Returns the tables of a study for the results.
[[nodiscard]] std::vector<io::TableRows> tables_of(const std::string& key, const Study& study);

}  // namespace tessera::inline v1::microscope
