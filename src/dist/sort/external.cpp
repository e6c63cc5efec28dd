// Plan of an external merge sort: runs, borders of parts at samples, cuts by binary search.

#include "dist/sort/external.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

/// Returns < 0, 0, > 0 if row a is before row b, equal to it, or after it.
int compare(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
  for (std::size_t w = 0; w < words; ++w) {
    if (a[w] != b[w]) return a[w] < b[w] ? -1 : 1;
  }
  return 0;
}

bool precedes(const std::uint64_t* row, index_t run, index_t place, const PartBorder& border) {
  const int order = compare(row, border.words.data(), border.words.size());
  if (order != 0) return order < 0;
  return run != border.run ? run < border.run : place < border.place;
}

/// Returns the number of rows in [0, count) before a border by binary search; before(j) must be
/// true for a prefix of the rows.
template <class Before>
index_t count_before(index_t count, const Before& before) {
  index_t low = 0, high = count;
  while (low < high) {
    const index_t middle = low + (high - low) / 2;
    if (before(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace

RunPlan plan_runs(index_t rows, index_t row_bytes, index_t allowance, index_t ranks) {
  constexpr index_t coarsest = 4096;  // rows read to find a cut between two samples
  constexpr index_t uneven = 16;      // a part exceeds a run by this fraction of it at most
  constexpr index_t samples = 8;      // of each run in a part, at least
  RunPlan plan{.rows = rows, .at_once = allowance / row_bytes};
  // All ranks have equally many runs; none is empty.
  plan.runs = std::max<index_t>(
      1, std::min(rows, round_up(ceil_div(rows, std::max<index_t>(1, plan.at_once)), ranks)));
  // Parts as large as runs, plus uneven borders, need no more memory, and ranks have as many.
  const index_t run = ceil_div(rows, plan.runs);
  plan.at_once =
      std::min(plan.at_once, std::max(run + ceil_div(run, uneven), samples * (plan.runs + 1)));
  plan.step = std::clamp<index_t>(plan.at_once / (samples * (plan.runs + 1)), 1, coarsest);
  plan.part_aim = plan.at_once - (plan.runs + 1) * plan.step;
  require(
      plan.part_aim >= plan.at_once / 2 && plan.part_aim > 0, ExitCode::memory,
      human_bytes(static_cast<double>(allowance)) +
          " of memory is insufficient to sort these rows in two passes; allow more memory or use "
          "more ranks");
  return plan;
}

std::vector<PartBorder> part_borders(const RunPlan& plan, const std::vector<RunSamples>& runs,
                                     std::size_t words, EqualRows equal) {
  const bool together = equal == EqualRows::stay_together;
  struct SampledRow {
    const std::uint64_t* words;
    index_t run, place, rows;
  };
  std::vector<SampledRow> samples;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (index_t place = 0; place < runs[r].rows; place += plan.step) {
      const auto at = static_cast<std::size_t>(place / plan.step) * words;
      samples.push_back({runs[r].words.data() + at, static_cast<index_t>(r), place,
                         std::min(plan.step, runs[r].rows - place)});
    }
  }
  std::sort(samples.begin(), samples.end(), [&](const SampledRow& a, const SampledRow& b) {
    const int order = compare(a.words, b.words, words);
    if (order != 0) return order < 0;
    return a.run != b.run ? a.run < b.run : a.place < b.place;
  });
  std::vector<PartBorder> borders;
  index_t held = 0;
  for (std::size_t at = 0; at < samples.size();) {
    const SampledRow& first = samples[at];
    index_t rows = 0;
    do {
      rows += samples[at++].rows;
    } while (together && at < samples.size() &&
             compare(first.words, samples[at].words, words) == 0);
    if (held > 0 && held + rows > plan.part_aim) {
      borders.push_back({{first.words, first.words + words},
                         together ? 0 : first.run,  // equal rows of all runs are after it
                         together ? 0 : first.place});
      held = 0;
    }
    held += rows;
  }
  return borders;
}

std::optional<std::vector<index_t>> group_buckets(std::span<const index_t> sizes, index_t most) {
  std::vector<index_t> firsts{0};
  index_t held = 0;
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    if (sizes[b] > most) return std::nullopt;
    if (held + sizes[b] > most) {
      firsts.push_back(static_cast<index_t>(b));
      held = 0;
    }
    held += sizes[b];
  }
  return firsts;
}

layout::Range bracket(const RunPlan& plan, const RunSamples& samples, index_t run,
                      const PartBorder& border) {
  const std::size_t words = border.words.size();
  const index_t count = static_cast<index_t>(samples.words.size() / words);
  const index_t before = count_before(count, [&](index_t i) {
    return precedes(samples.words.data() + static_cast<std::size_t>(i) * words, run, i * plan.step,
                    border);
  });
  if (before == 0) return {0, 0};
  // The border is after the last sample before it and not after the next one.
  return {(before - 1) * plan.step + 1, std::min(before * plan.step, samples.rows)};
}

index_t rows_before(std::span<const std::uint64_t> words, index_t run, index_t first,
                    const PartBorder& border) {
  const std::size_t width = border.words.size();
  return count_before(static_cast<index_t>(words.size() / width), [&](index_t j) {
    return precedes(words.data() + static_cast<std::size_t>(j) * width, run, first + j, border);
  });
}

}  // namespace tessera::inline v1::dist::sort
