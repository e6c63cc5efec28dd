#pragma once
// Sorting what is larger than memory: rows become sorted runs, and the runs are cut into parts that
// fit into memory again and follow each other in the sorted order. Arithmetic on samples of the
// runs; the files are the caller's.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::dist::sort {

/// How many rows lie in memory at once, and what follows.
struct RunPlan {
  index_t rows = 0;      ///< of all runs
  index_t runs = 0;      ///< of equal length
  index_t at_once = 0;   ///< rows that fit into memory
  index_t step = 1;      ///< a sample every so many rows of a run
  index_t part_aim = 0;  ///< rows of a part, give or take a step for every run

  [[nodiscard]] layout::Range run(index_t r) const { return layout::BlockMap(rows, runs).range(r); }
};
/// Throws Error(memory) when so few rows fit that the samples do not tell enough.
[[nodiscard]] RunPlan plan_runs(index_t rows, index_t row_bytes, index_t allowance, index_t ranks);

/// Rows 0, step, 2 step, ... of a run as words (key_words.hpp), row by row; of a divided one, where
/// its buckets begin, and the number of rows.
struct RunSamples {
  index_t rows = 0;
  std::vector<std::uint64_t> words;
};

/// A row that begins a part: those before it in the order by (words, run, place) belong to the
/// parts before.
struct PartBorder {
  std::vector<std::uint64_t> words;
  index_t run = 0;
  index_t place = 0;
};

enum class EqualRows {
  may_part,
  stay_together,  ///< for runs of which none holds two
};
/// Borders between parts of about part_aim rows, at samples.
[[nodiscard]] std::vector<PartBorder> part_borders(const RunPlan& plan,
                                                   const std::vector<RunSamples>& runs,
                                                   std::size_t words,
                                                   EqualRows equal = EqualRows::may_part);

/// Neighbouring buckets that have at most so many rows together are a part: the first bucket of
/// each, the first of which is 0. Nothing where a bucket has more alone.
[[nodiscard]] std::optional<std::vector<index_t>> group_buckets(std::span<const index_t> sizes,
                                                                index_t most);

/// The rows of a run among which its first row of the part is: it is one of them, or the one after.
[[nodiscard]] layout::Range bracket(const RunPlan& plan, const RunSamples& samples, index_t run,
                                    const PartBorder& border);
/// How many of some rows of a run, of which the first stands at `first`, come before the border.
[[nodiscard]] index_t rows_before(std::span<const std::uint64_t> words, index_t run, index_t first,
                                  const PartBorder& border);

}  // namespace tessera::dist::sort
