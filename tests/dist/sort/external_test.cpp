#include "dist/sort/external.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/random.hpp"

namespace tessera::dist::sort {
namespace {

using Row = std::vector<std::uint64_t>;

/// Runs of sorted rows, their samples, and everything derived from them.
struct Runs {
  RunPlan plan;
  std::vector<std::vector<Row>> rows;
  std::vector<RunSamples> samples;
};

Runs made(const RunPlan& plan, std::size_t words, std::uint64_t mask, EqualRows equal) {
  Runs runs{plan, {}, {}};
  for (index_t r = 0; r < plan.runs; ++r) {
    std::vector<Row> rows;
    const layout::Range range = plan.run(r);
    for (index_t i = range.begin; i < range.end; ++i) {
      Row row;
      for (std::size_t w = 0; w < words; ++w) row.push_back(random_bits(3, w, i) & mask);
      rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end());
    if (equal == EqualRows::stay_together)
      rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    RunSamples samples{static_cast<index_t>(rows.size()), {}};
    for (index_t j = 0; j < samples.rows; j += plan.step)
      samples.words.insert(samples.words.end(), rows[static_cast<std::size_t>(j)].begin(),
                           rows[static_cast<std::size_t>(j)].end());
    runs.rows.push_back(rows);
    runs.samples.push_back(samples);
  }
  return runs;
}

index_t cut_of(const Runs& runs, index_t run, const PartBorder& border) {
  const auto& rows = runs.rows[static_cast<std::size_t>(run)];
  const layout::Range range =
      bracket(runs.plan, runs.samples[static_cast<std::size_t>(run)], run, border);
  std::vector<std::uint64_t> words;
  for (index_t j = range.begin; j < range.end; ++j)
    words.insert(words.end(), rows[static_cast<std::size_t>(j)].begin(),
                 rows[static_cast<std::size_t>(j)].end());
  return range.begin + rows_before(words, run, range.begin, border);
}

void check(index_t n, std::size_t words, std::uint64_t mask, index_t at_once, index_t ranks,
           EqualRows equal) {
  const Runs runs = made(plan_runs(n, 1, at_once, ranks), words, mask, equal);
  index_t all = 0;
  for (const RunSamples& run : runs.samples) all += run.rows;
  std::vector<index_t> from(static_cast<std::size_t>(runs.plan.runs), 0);
  std::vector<Row> sorted;
  auto borders = part_borders(runs.plan, runs.samples, words, equal);
  borders.push_back({Row(words, ~std::uint64_t{0}), runs.plan.runs, 0});  // after all rows
  for (const PartBorder& border : borders) {
    std::vector<Row> part;
    for (index_t r = 0; r < runs.plan.runs; ++r) {
      const auto at = static_cast<std::size_t>(r);
      const index_t to = cut_of(runs, r, border);
      ASSERT_LE(from[at], to);
      part.insert(part.end(), runs.rows[at].begin() + from[at], runs.rows[at].begin() + to);
      from[at] = to;
    }
    EXPECT_LE(static_cast<index_t>(part.size()), at_once);
    std::stable_sort(part.begin(), part.end());
    const bool follows = equal == EqualRows::stay_together && !part.empty() && !sorted.empty();
    EXPECT_TRUE(!follows || sorted.back() < part.front());
    sorted.insert(sorted.end(), part.begin(), part.end());
  }
  EXPECT_EQ(static_cast<index_t>(sorted.size()), all);
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
}

void check_all(EqualRows equal) {
  for (const std::uint64_t mask : {~std::uint64_t{0}, std::uint64_t{0xffff}, std::uint64_t{1023},
                                   std::uint64_t{3}, std::uint64_t{0}}) {
    for (const std::size_t words : {std::size_t{1}, std::size_t{2}}) {
      check(10000, words, mask, 1000, 1, equal);
      check(10007, words, mask, 3000, 3, equal);
      check(500, words, mask, 100, 2, equal);
      check(5, words, mask, 1000, 4, equal);
      check(1, words, mask, 1000, 3, equal);
    }
  }
}

TEST(External, PartsFitIntoMemoryAndFollowEachOther) { check_all(EqualRows::may_part); }
TEST(External, EqualRowsOfRunsWithoutRepeatsLieInOnePart) { check_all(EqualRows::stay_together); }

TEST(External, NeedsMemoryForMoreThanOneRowOfEachRun) {
  EXPECT_THROW((void)plan_runs(1000000, 8, 800, 1), Error);
  EXPECT_GT(plan_runs(1000000, 8, 80000, 1).part_aim, 0);
}

TEST(External, PlansNoMoreMemoryThanEqualPartsNeed) {
  const RunPlan plan = plan_runs(1'000'000, 8, 8 * 260'000, 3);  // 4 runs fit, 3 ranks have 6
  EXPECT_EQ(plan.runs, 6);
  EXPECT_GE(plan.at_once, 1'000'000 / 6);
  EXPECT_LE(plan.at_once, 1'000'000 / 6 * 108 / 100);
  EXPECT_LT(plan_runs(1'000'000, 8, 8 * 1'500'000, 3).at_once, 360'000);
}

TEST(GroupBuckets, TakesNeighboursThatFitTogether) {
  const auto groups = [](std::vector<index_t> sizes, index_t most) {
    return group_buckets(sizes, most);
  };
  using Firsts = std::vector<index_t>;
  EXPECT_EQ(groups({3, 3, 3, 3}, 6), (Firsts{0, 2}));
  EXPECT_EQ(groups({3, 3, 3, 3}, 5), (Firsts{0, 1, 2, 3}));
  EXPECT_EQ(groups({6, 0, 1, 5, 0}, 6), (Firsts{0, 2}));
  EXPECT_EQ(groups({0, 0}, 1), (Firsts{0}));
  EXPECT_EQ(groups({}, 1), (Firsts{0}));
  EXPECT_EQ(groups({3, 7, 3}, 6), std::nullopt);
}

}  // namespace
}  // namespace tessera::dist::sort
