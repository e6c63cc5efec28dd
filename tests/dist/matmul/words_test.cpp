// Words that ranks exchange under the recursive plan: counted, not timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dist/matmul/plan.hpp"

namespace tessera::dist::matmul {
namespace {

Shape cube(index_t n) { return {n, n, tessera::matmul::leaves<double>(n)}; }

// Of 16 cores: they trade some balance for fewer words.
constexpr Prices wide_ranks{.flops_per_word = 16 * core_flops_per_word};

struct Words {
  double worst = 0, mean = 0;  // over the ranks
};

/// Returns the elements that a rank sends, as many as it receives, if its share of every matrix at
/// home equals its share of the product: it receives the remaining operands and sends the parts of
/// c that other ranks keep.
Words words_of(const Plan& plan) {
  const auto share = [](index_t part, index_t all) {
    return static_cast<double>(part) / static_cast<double>(all);
  };
  Words words;
  for (const Cuboid& c : plan.cuboids) {
    if (c.empty()) continue;
    const index_t k = plan.k_range(c).size();
    const auto area = [](index_t x, index_t y) {
      return static_cast<double>(x) * static_cast<double>(y);
    };
    const double mine = area(c.m.size(), k) * (1 - share(c.n.size(), plan.shape.n)) +
                        area(k, c.n.size()) * (1 - share(c.m.size(), plan.shape.m)) +
                        area(c.m.size(), c.n.size()) *
                            (static_cast<double>(plan.nodes(c).size()) - share(k, plan.shape.k()));
    words.worst = std::max(words.worst, mine);
    words.mean += mine / static_cast<double>(plan.cuboids.size());
  }
  return words;
}

// Elements that a rank sends when only the rows are split, over those of the plan. A rank of an odd
// number of equal ranks has all of k, or two nodes of the summation tree: these few determine the
// worst rank, all ranks the network's load. Ranks with many cores trade some balance for fewer
// words.
TEST(WordsOfPlans, AreFarFewerThanOfA1DSplitAlsoOnPrimes) {
  struct Floor {
    index_t ranks;
    double mean;             // the requirement
    double worst_of_wide;    // ranks of 16 cores; here and below the values counted at the time of
                             // writing
    double worst_of_narrow;  // ranks of one core
  };
  const Floor floors[] = {{7, 1.6, 1.6, 1.6}, {13, 2.7, 2.6, 2.2}, {17, 2.8, 2.8, 2.4},
                          {31, 4, 4, 2.7},    {61, 6, 6, 5.9},     {127, 10, 9.8, 8}};
  for (const Floor& floor : floors) {
    for (const index_t n : {8192, 32768}) {
      const Shape shape = cube(n);
      const double one_d = words_of(home_plan(shape, layout::row_blocks(n, n, floor.ranks))).worst;
      const Words narrow = words_of(recursive_plan(shape, floor.ranks));
      EXPECT_GT(one_d / narrow.mean, floor.mean) << floor.ranks << " ranks, n = " << n;
      EXPECT_GT(one_d / narrow.worst, floor.worst_of_narrow) << floor.ranks << " ranks, n = " << n;
      const Words wide = words_of(recursive_plan(shape, floor.ranks, {}, wide_ranks));
      EXPECT_GT(one_d / wide.mean, floor.mean) << floor.ranks << " ranks, n = " << n;
      if (n == 8192) {
        EXPECT_GT(one_d / wide.worst, floor.worst_of_wide) << floor.ranks << " ranks, n = " << n;
      }
    }
  }
}

/// Returns the fewest words that a rank of P exchanges for a cube in the mean: 3 (n^3 / P)^(2/3)
/// less its share of the matrices (Al Daas, Ballard, Grigori, Kumar and Rouse, Tight
/// memory-independent parallel matrix multiplication communication lower bounds, 2022).
double lower_bound(index_t n, index_t ranks) {
  const auto side = static_cast<double>(n), all = static_cast<double>(ranks);
  return 3 * side * side * (std::pow(all, -2.0 / 3) - 1 / all);
}

// Up to five ranks no grid attains the bound: two halve one dimension, 1.28 times it.
TEST(WordsOfPlans, AreWithinATenthOfTheLowerBoundOnAnyNumberOfRanks) {
  constexpr index_t n = 32768;
  double sum = 0, count = 0;
  for (index_t ranks = 6; ranks <= 512; ranks += ranks < 128 ? 1 : 13, ++count) {
    const double ratio =
        words_of(recursive_plan(cube(n), ranks, {}, wide_ranks)).mean / lower_bound(n, ranks);
    EXPECT_GE(ratio, 0.999) << ranks << " ranks: fewer words than are possible";
    EXPECT_LE(ratio, 1.1) << ranks << " ranks";
    sum += ratio;
  }
  EXPECT_LE(sum / count, 1.04);
}

}  // namespace
}  // namespace tessera::dist::matmul
