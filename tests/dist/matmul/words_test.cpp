// Words that ranks exchange under the recursive plan: counted, not timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "dist/matmul/multiply.hpp"
#include "dist/matmul/words_bound.hpp"

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

/// Returns the fewest words that a rank of P exchanges for a cube in the mean, in any memory.
double lower_bound(index_t n, index_t ranks) {
  return least_words({n, n, n, ranks, std::numeric_limits<double>::infinity()});
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

TEST(LeastWords, AreThoseOfThePublishedBounds) {
  const double any = std::numeric_limits<double>::infinity();
  for (const index_t ranks : {8, 27, 100}) {
    const double all = static_cast<double>(ranks), n = 4096;
    EXPECT_NEAR(lower_bound(4096, ranks), 3 * n * n * (std::pow(all, -2.0 / 3) - 1 / all), 1e-3);
  }
  EXPECT_EQ(least_words({512, 512, 512, 1, any}), 0);
  EXPECT_EQ(least_words({512, 0, 512, 4, any}), 0);
  // 1D: all but the share of the smallest matrix; in any order of the sides.
  EXPECT_DOUBLE_EQ(least_words({100, 200, 80000, 50, any}), 100 * 200 * (1 - 1 / 50.0));
  EXPECT_DOUBLE_EQ(least_words({80000, 100, 200, 50, any}), 100 * 200 * (1 - 1 / 50.0));
  // 2D: a grid of squares of the largest matrix, 8 x 8 of 800 x 800, k of 10.
  EXPECT_NEAR(least_words({800, 10, 800, 64, any}), 2 * 100 * 10 * (1 - 1 / 8.0), 1e-6);
  // The cases meet where they change.
  for (const WordsProblem x :
       {WordsProblem{6400, 200, 100, 32, any}, WordsProblem{6400, 6400, 100, 4096, any}}) {
    WordsProblem more = x;
    ++more.ranks;
    EXPECT_NEAR(least_words(more) / least_words(x), 1, 0.05);
  }
  const index_t n = 1 << 14, ranks = 512;  // (n^3 / P)^(2/3) = 2^22
  const double products = std::pow(2.0, 33), share = 3 * std::pow(2.0, 19);
  EXPECT_NEAR(least_words({n, n, n, ranks, std::pow(2.0, 20)}),
              2 * products / 1024 + std::pow(2.0, 20) - share, 1);
  EXPECT_NEAR(least_words({n, n, n, ranks, std::pow(2.0, 22)}), lower_bound(n, ranks), 1);
  EXPECT_EQ(least_words({n, n, n, ranks, std::pow(2.0, 23)}), lower_bound(n, ranks));
}

TEST(PlanInRounds, HoldsLessOfADearerOperand) {
  const index_t n = 8192, ranks = 16;
  const ForecastRequest q{.m = n, .n = n, .k = n, .ranks = ranks, .inside = true};
  double before = std::numeric_limits<double>::max(), words_before = 0;
  for (const double share : {4.0, 2.0, 1.5}) {  // of what the operands and c take at home
    const double limit = share * 3.0 * 8 * static_cast<double>(n * n) / static_cast<double>(ranks);
    Method method;
    const ProductPlan planned = plan_in_rounds(
        q, method, [&](const Forecast& f) { return static_cast<double>(f.memory()) <= limit; });
    ASSERT_EQ(planned.forecasts.size(), static_cast<std::size_t>(ranks)) << share;
    EXPECT_GT(method.rounds, 1);
    EXPECT_EQ(planned.plans.size(), static_cast<std::size_t>(method.rounds));
    double most = 0, words = 0;
    for (const Forecast& f : planned.forecasts) {
      most = std::max(most, static_cast<double>(f.memory()));
      words += static_cast<double>(f.received_bytes);
    }
    EXPECT_LE(most, limit);
    EXPECT_LT(most, before);
    EXPECT_GE(words, words_before);
    before = most;
    words_before = words;
  }
}

TEST(PlanInRounds, LeavesTheMethodIfNothingFits) {
  const ForecastRequest q{.m = 900, .n = 800, .k = 700, .ranks = 6, .inside = true};
  Method method{.rounds = 1, .slices = 8};
  EXPECT_TRUE(plan_in_rounds(q, method, [](const Forecast&) { return false; }).forecasts.empty());
  EXPECT_EQ(method.rounds, 1);
  EXPECT_EQ(method.slices, 8);
}

/// Returns the received words of a rank in the mean over the lower bound if every rank has `factor`
/// times its share of the matrices as memory; 0 if nothing fits.
double over_bound(const Shape& shape, index_t ranks, double factor) {
  const auto area = [](index_t rows, index_t cols) {
    return static_cast<double>(rows) * static_cast<double>(cols);
  };
  const index_t m = shape.m, n = shape.n, k = shape.k();
  const double memory =
      factor * (area(m, k) + area(k, n) + area(m, n)) / static_cast<double>(ranks);
  const ForecastRequest q{.m = m, .n = n, .k = k, .ranks = ranks, .inside = true};
  Method method{.threads = 16, .flops_per_word = wide_ranks.flops_per_word};
  const FitsRank fits = [&](const Forecast& f) {
    return static_cast<double>(f.memory()) <= 8 * memory;
  };
  ProductPlan planned = plan_product(q, method);
  if (!std::all_of(planned.forecasts.begin(), planned.forecasts.end(), fits))
    planned = plan_in_rounds(q, method, fits);
  double bytes = 0;
  for (const Forecast& f : planned.forecasts) bytes += static_cast<double>(f.received_bytes);
  return bytes / static_cast<double>(8 * ranks) / least_words({m, n, k, ranks, memory});
}

// Memory of 1.5, 2, 4 and 8 times the share. With less than V^(2/3), V = mnk/P, no plan is at the
// bound: operands and result stay where they are, in memory that the bound lets any schedule use.
TEST(WordsOfRounds, AreNearTheLowerBoundForTheMemoryOnPrimes) {
  struct Limits {
    index_t ranks;
    double of[4];
  };
  constexpr double factors[] = {1.5, 2, 4, 8};
  const Limits all[] = {{4, {1.15, 1.15, 1.15, 1.15}}, {7, {1.5, 1.1, 1.1, 1.1}},
                        {8, {1.35, 1.01, 1.01, 1.01}}, {13, {1.6, 1.2, 1.15, 1.15}},
                        {31, {1.65, 1.2, 1.1, 1.1}},   {64, {1.6, 1.25, 1.01, 1.01}},
                        {127, {2.1, 1.3, 1.1, 1.06}},  {256, {2.2, 1.5, 1.2, 1.1}}};
  for (const Limits& limits : all) {
    for (std::size_t i = 0; i < std::size(factors); ++i) {
      const double ratio = over_bound(cube(32768), limits.ranks, factors[i]);
      EXPECT_LE(ratio, limits.of[i]) << limits.ranks << " ranks, factor " << factors[i];
      EXPECT_GE(ratio, 0.999) << limits.ranks << " ranks, factor " << factors[i];
    }
  }
}

// Bytes that all ranks receive with ample memory: rounds leave such plans as they were.
TEST(PlanProduct, IsTheSameInAmpleMemoryAsWithoutRounds) {
  struct Known {
    index_t m, n, k, ranks, bytes;
  };
  const Known all[] = {{32768, 32768, 32768, 7, 25357153280},  {4096, 4096, 128, 7, 14401536},
                       {100, 200, 100000, 13, 24812032},       {60000, 300, 500, 31, 36000000},
                       {32768, 32768, 32768, 64, 77309411328}, {4096, 4096, 128, 64, 58720256}};
  for (const Known& x : all) {
    index_t bytes = 0;
    for (const Forecast& f :
         forecast({.m = x.m, .n = x.n, .k = x.k, .ranks = x.ranks, .inside = true},
                  {.threads = 16, .flops_per_word = wide_ranks.flops_per_word}))
      bytes += f.received_bytes;
    EXPECT_EQ(bytes, x.bytes) << x.m << " x " << x.n << " x " << x.k << " on " << x.ranks;
  }
}

}  // namespace
}  // namespace tessera::dist::matmul
