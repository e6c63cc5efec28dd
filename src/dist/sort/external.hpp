#pragma once
// External merge sort of data larger than memory: forms sorted runs, then cuts the runs into parts
// that fit into memory and follow each other in the sorted order; two passes over the data.
// Arithmetic on samples of the runs; the caller owns the files.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::inline v1::dist::sort {

/// The number of rows in memory at once, and derived sizes.
struct RunPlan {
  index_t rows = 0;      ///< of all runs
  index_t runs = 0;      ///< of equal length
  index_t at_once = 0;   ///< rows that fit into memory
  index_t step = 1;      ///< distance of samples in a run, rows
  index_t part_aim = 0;  ///< rows of a part, plus or minus a step for every run

  [[nodiscard]] layout::Range run(index_t r) const { return layout::BlockMap(rows, runs).range(r); }
};
/// Plans the runs. Throws Error(memory) if too few rows fit for the samples to be useful.
[[nodiscard]] RunPlan plan_runs(index_t rows, index_t row_bytes, index_t allowance, index_t ranks);

/// Rows 0, step, 2 step, ... of a run as words (key_words.hpp), row by row; for a divided run the
/// beginnings of its buckets, and the number of rows.
struct RunSamples {
  index_t rows = 0;
  std::vector<std::uint64_t> words;
};

/// The first row of a part: rows before it by (words, run, place) belong to the previous parts.
struct PartBorder {
  std::vector<std::uint64_t> words;
  index_t run = 0;
  index_t place = 0;
};

enum class EqualRows {
  may_part,
  stay_together,  ///< for runs without duplicates
};
/// Returns borders between parts of about part_aim rows, at samples.
[[nodiscard]] std::vector<PartBorder> part_borders(const RunPlan& plan,
                                                   const std::vector<RunSamples>& runs,
                                                   std::size_t words,
                                                   EqualRows equal = EqualRows::may_part);

/// Groups adjacent buckets with at most `most` rows together into parts. Returns the first bucket
/// of each part, beginning with 0; empty if a single bucket has more rows.
[[nodiscard]] std::optional<std::vector<index_t>> group_buckets(std::span<const index_t> sizes,
                                                                index_t most);

/// Returns the rows of a run that bracket its first row of the part: it is one of them, or the next
/// one.
[[nodiscard]] layout::Range bracket(const RunPlan& plan, const RunSamples& samples, index_t run,
                                    const PartBorder& border);
/// Returns the number of the given rows of a run, beginning at row `first`, that are before the
/// border.
[[nodiscard]] index_t rows_before(std::span<const std::uint64_t> words, index_t run, index_t first,
                                  const PartBorder& border);

}  // namespace tessera::inline v1::dist::sort
