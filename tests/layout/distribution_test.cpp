#include "layout/distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "dist/relayout/placed.hpp"

namespace tessera::layout {
namespace {

using dist::relayout::permutation;
using dist::relayout::pick;
using dist::relayout::Placed;
using dist::relayout::Random;

/// Returns the elements that are on the same rank in both, counted one by one.
index_t staying(const Placed& a, const Placed& b, const std::vector<index_t>& rank_of) {
  const Distribution& x = a.distribution;
  index_t sum = 0;
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t j = 0; j < x.cols(); ++j) {
      for (index_t r = 0; r < x.ranks(); ++r) {
        if (b.where(r, i, j) && a.where(rank_of[static_cast<std::size_t>(r)], i, j)) ++sum;
      }
    }
  }
  return sum;
}

TEST(BestRanks, KeepAsManyElementsAsAnyPermutation) {
  Random random(3);
  for (int round = 0; round < 30; ++round) {
    const index_t ranks = pick(random, 1, 5), rows = pick(random, 1, 20),
                  cols = pick(random, 1, 20);
    const Placed a = dist::relayout::any_distribution(random, rows, cols, ranks),
                 b = dist::relayout::any_distribution(random, rows, cols, ranks);
    std::vector<index_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    index_t most = 0;
    do {
      most = std::max(most, staying(a, b, all));
    } while (std::next_permutation(all.begin(), all.end()));
    const std::vector<index_t> best = best_ranks(a.distribution, b.distribution);
    EXPECT_EQ(staying(a, b, best), most);
    EXPECT_NO_THROW(static_cast<void>(b.distribution.relabelled(best)));
  }
}

TEST(BestRanks, FindThePermutationOfRanks) {
  Random random(5);
  const Distribution a(BlockCyclic{{300, 8, 6}, {200, 16, 7}}, 42);
  const std::vector<index_t> moved = permutation(random, 42);
  const Distribution back = a.relabelled(moved).relabelled(best_ranks(a, a.relabelled(moved)));
  for (std::size_t p = 0; p < a.parts().size(); ++p)
    EXPECT_EQ(back.parts()[p].rank, a.parts()[p].rank);
}

TEST(BestRanks, NameWhatDoesNotMatch) {
  const Distribution a(row_blocks(9, 4, 3));
  for (const Distribution& b :
       {Distribution(row_blocks(9, 5, 3)), Distribution(row_blocks(9, 4, 2))})
    EXPECT_THROW(static_cast<void>(best_ranks(a, b)), Error);
  EXPECT_THROW(static_cast<void>(a.relabelled({0, 1})), Error);
  EXPECT_THROW(static_cast<void>(a.relabelled({0, 1, 1})), Error);
  EXPECT_THROW(static_cast<void>(a.relabelled({0, 1, 3})), Error);
}

/// The place of every index by counting, block by block.
TEST(CyclicMap, GivesEveryIndexToOnePart) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const index_t parts = pick(random, 1, 5), extent = pick(random, 0, 60);
    const CyclicMap map{extent, pick(random, 1, 9), parts, pick(random, 0, parts - 1),
                        pick(random, 0, 9)};
    const index_t begin = pick(random, 0, extent), end = pick(random, begin, extent);
    index_t seen = 0;
    for (index_t part = 0; part < parts; ++part) {
      for (const auto& [global, local] : map.segments(part, {begin, end})) {
        for (index_t g = global.begin; g < global.end; ++g, ++seen) {
          const auto [owner, place] = dist::relayout::count_up(map, begin + g);
          EXPECT_EQ(owner, part);
          EXPECT_EQ(place, local + g - global.begin);
        }
      }
    }
    EXPECT_EQ(seen, end - begin);
  }
}

}  // namespace
}  // namespace tessera::layout
