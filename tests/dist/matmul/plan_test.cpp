#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "dist/matmul/multiply.hpp"
#include "dist/matmul/plan.hpp"

namespace tessera::dist::matmul {
namespace {

using layout::Range;

Shape shape_of(index_t m, index_t n, index_t k) {
  return {m, n, tessera::matmul::leaves<double>(k)};
}

double volume(const Plan& plan, const Cuboid& c) {
  return c.empty() ? 0
                   : static_cast<double>(c.m.size()) * static_cast<double>(c.n.size()) *
                         static_cast<double>(plan.k_range(c).size());
}

bool overlap(const Cuboid& a, const Cuboid& b) {
  return !a.empty() && !b.empty() && !intersect(a.m, b.m).empty() && !intersect(a.n, b.n).empty() &&
         !intersect(a.leaves, b.leaves).empty();
}

TEST(RecursivePlan, CoversTheProductExactlyOnceOnAnyNumberOfRanks) {
  const index_t shapes[][3] = {{1000, 1000, 1000}, {1, 1, 100000},  {5000, 3, 7},     {3, 5000, 7},
                               {1, 1, 1},          {64, 64, 70000}, {2049, 511, 4097}};
  for (const auto& s : shapes) {
    for (const index_t ranks : {1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 31}) {
      const Plan plan = recursive_plan(shape_of(s[0], s[1], s[2]), ranks);
      ASSERT_EQ(static_cast<index_t>(plan.cuboids.size()), ranks);
      double sum = 0;
      for (std::size_t a = 0; a < plan.cuboids.size(); ++a) {
        sum += volume(plan, plan.cuboids[a]);
        for (std::size_t b = 0; b < a; ++b) EXPECT_FALSE(overlap(plan.cuboids[a], plan.cuboids[b]));
      }
      EXPECT_EQ(sum,
                static_cast<double>(s[0]) * static_cast<double>(s[1]) * static_cast<double>(s[2]));
    }
  }
}

TEST(RecursivePlan, BalancesACubeOnPrimes) {
  for (const index_t ranks : {2, 3, 5, 7, 11, 13, 17, 31}) {
    const Plan plan = recursive_plan(shape_of(8192, 8192, 8192), ranks);
    double most = 0, sum = 0;
    for (const Cuboid& c : plan.cuboids) {
      most = std::max(most, volume(plan, c));
      sum += volume(plan, c);
    }
    EXPECT_LT(most, 1.15 * sum / static_cast<double>(ranks)) << ranks;
  }
}

TEST(RecursivePlan, IsTheSameForAlikeWeightsWhateverTheirUnit) {
  for (const index_t ranks : {1, 2, 3, 6, 7, 40}) {
    const Shape shape = shape_of(2049, 511, 4097);
    const Plan plain = recursive_plan(shape, ranks);
    const Plan weighted =
        recursive_plan(shape, ranks, std::vector<double>(static_cast<std::size_t>(ranks), 37.5));
    for (index_t r = 0; r < ranks; ++r) {
      EXPECT_EQ(plain.of(r).m, weighted.of(r).m);
      EXPECT_EQ(plain.of(r).n, weighted.of(r).n);
      EXPECT_EQ(plain.of(r).leaves, weighted.of(r).leaves);
    }
  }
}

TEST(RecursivePlan, GivesEveryRankInProportionToItsSpeed) {
  const std::vector<std::vector<double>> all_weights{{1, 3},
                                                     {20, 1, 1, 1},
                                                     {1, 1, 1, 20},
                                                     {1, 1, 20, 1},
                                                     {60, 2, 2, 2, 60, 2, 2, 2},
                                                     {1, 2, 3, 4, 5},
                                                     {5, 4, 3, 2, 1},
                                                     {1.5, 1, 1, 1.1, 1, 0.9, 1}};
  for (const auto& weights : all_weights) {
    const auto ranks = static_cast<index_t>(weights.size());
    const Plan plan = recursive_plan(shape_of(8192, 8192, 8192), ranks, weights);
    ASSERT_EQ(static_cast<index_t>(plan.cuboids.size()), ranks);
    double all = 0, speed = 0, slowest = 0;
    for (index_t r = 0; r < ranks; ++r) {
      const double mine = weights[static_cast<std::size_t>(r)];
      all += volume(plan, plan.of(r));
      speed += mine;
      slowest = std::max(slowest, volume(plan, plan.of(r)) / mine);
      for (index_t other = 0; other < r; ++other) EXPECT_FALSE(overlap(plan.of(r), plan.of(other)));
    }
    EXPECT_EQ(all, 8192.0 * 8192 * 8192);
    EXPECT_LT(slowest, 1.2 * all / speed) << "first weight " << weights.front() << " of " << ranks;
  }
}

TEST(RecursivePlan, LeavesWhatIsTooSmallToTheFastest) {
  const Plan plan = recursive_plan(shape_of(8, 8, 8), 4, {1, 1, 50, 1});
  for (index_t r = 0; r < 4; ++r) EXPECT_EQ(plan.of(r).empty(), r != 2);
}

TEST(RecursivePlan, SplitsADeepProductAlongK) {
  const Plan plan = recursive_plan(shape_of(64, 64, 1000000), 8);
  for (const Cuboid& c : plan.cuboids) {
    EXPECT_EQ(c.m.size(), 64);
    EXPECT_EQ(c.n.size(), 64);
    EXPECT_FALSE(c.leaves.empty());
  }
}

TEST(HomePlan, ComputesEveryBoxOfCWhereItLives) {
  const layout::MatrixLayout home = layout::row_blocks(100, 50, 4);
  const Plan plan = home_plan(shape_of(100, 50, 30), home);
  EXPECT_EQ(plan.of(1).m, (layout::Range{25, 50}));
  EXPECT_EQ(plan.of(1).n, (layout::Range{0, 50}));
  EXPECT_TRUE(grows_at_home(plan, home));
  EXPECT_FALSE(splits_k(plan));
  const layout::MatrixLayout few = layout::row_blocks(2, 50, 4);  // two ranks own nothing
  EXPECT_TRUE(grows_at_home(home_plan(shape_of(2, 50, 30), few), few));
}

Homes homes_of(index_t m, index_t n, index_t k, index_t ranks) {
  return {layout::row_blocks(m, k, ranks), layout::row_blocks(k, n, ranks),
          layout::row_blocks(m, n, ranks)};
}

TEST(ChoosePlan, LeavesALargeResultOfAShortKAtHome) {
  for (const index_t ranks : {2, 4, 6}) {
    const Homes homes = homes_of(4096, 4096, 128, ranks);
    const Plan plan = choose_plan(shape_of(4096, 4096, 128), Op::none, Op::none, homes);
    EXPECT_TRUE(grows_at_home(plan, homes.c)) << ranks;
  }
}

TEST(ChoosePlan, SplitsADeepProductAlongK) {
  const Homes homes = homes_of(64, 64, 1000000, 8);
  EXPECT_TRUE(splits_k(choose_plan(shape_of(64, 64, 1000000), Op::none, Op::none, homes)));
}

TEST(ChoosePlan, NeverMovesMoreThanTheRecursivePlanOfACube) {
  for (const index_t ranks : {2, 3, 4, 7, 16, 31}) {
    const index_t n = 8192;
    const Homes homes = homes_of(n, n, n, ranks);
    const auto most = [&](const Plan& plan) {
      index_t words = 0;
      for (index_t rank = 0; rank < ranks; ++rank)
        words = std::max(words, moved_elements(plan, Op::none, Op::none, homes, rank));
      return words;
    };
    EXPECT_LE(most(choose_plan(shape_of(n, n, n), Op::none, Op::none, homes)),
              most(recursive_plan(shape_of(n, n, n), ranks)))
        << ranks;
  }
}

TEST(ChoosePlan, SplitsNoKWhereOperandsAreReadInPlace) {
  const index_t n = 8192;
  Homes homes = homes_of(n, n, n, 8);
  EXPECT_TRUE(splits_k(choose_plan(shape_of(n, n, n), Op::none, Op::none, homes)));
  homes.seen = all_seen;
  EXPECT_FALSE(splits_k(choose_plan(shape_of(n, n, n), Op::none, Op::none, homes)));
}

TEST(ChoosePlans, MakeAllOfCInRoundsForLessMemory) {
  const index_t m = 1000, n = 1500, k = 9000, ranks = 6;
  const Homes homes = homes_of(m, n, k, ranks);
  index_t before = std::numeric_limits<index_t>::max();
  for (const index_t rounds : {1, 2, 8, 32}) {
    double sum = 0;
    for (const Plan& plan :
         choose_plans(shape_of(m, n, k), Op::none, Op::none, homes, {}, {.count = rounds}))
      for (const Cuboid& c : plan.cuboids) sum += volume(plan, c);
    EXPECT_EQ(sum, 1000.0 * 1500 * 9000);
    index_t work = 0, sent = 0, received = 0;
    for (const Forecast& f :
         forecast({.m = m, .n = n, .k = k, .ranks = ranks}, {.rounds = rounds})) {
      work = std::max(work, f.work_bytes);
      sent += f.sent_bytes;
      received += f.received_bytes;
    }
    EXPECT_EQ(sent, received);
    EXPECT_LT(work, before) << rounds;
    before = work;
  }
}

TEST(ChoosePlans, CutTheSideOfTheOperandThatIsNotHeld) {
  const index_t m = 1003, n = 1501, k = 9001, ranks = 7;
  const Homes homes = homes_of(m, n, k, ranks);
  for (const Held held : {Held::a, Held::b}) {
    for (const double price : {1.0, 3.0, 1000.0}) {
      const auto plans = choose_plans(shape_of(m, n, k), Op::none, Op::none, homes, {},
                                      {.count = 3, .held = held, .price = price});
      ASSERT_EQ(plans.size(), 3u);
      double sum = 0;
      for (const Plan& plan : plans) {
        EXPECT_TRUE(keeps(held, plans[0], plan));
        for (const Cuboid& c : plan.cuboids) sum += volume(plan, c);
        for (const Cuboid& x : plan.cuboids) {  // what is summed has the same box on all its ranks
          for (const Cuboid& y : plan.cuboids) {
            if (x.empty() || y.empty()) continue;
            const bool apart = intersect(x.m, y.m).empty() || intersect(x.n, y.n).empty();
            EXPECT_TRUE(apart || (x.m == y.m && x.n == y.n));
          }
        }
      }
      EXPECT_EQ(sum, 1003.0 * 1501 * 9001);
      EXPECT_FALSE(keeps(held == Held::a ? Held::b : Held::a, plans[0], plans[1]));
    }
  }
}

TEST(MovedElements, AreWhatTheForecastSends) {
  const index_t m = 300, n = 500, k = 9000, ranks = 6;
  const Homes homes = homes_of(m, n, k, ranks);
  const Plan plan = choose_plan(shape_of(m, n, k), Op::none, Op::none, homes);
  index_t moved = 0, received = 0;
  for (index_t rank = 0; rank < ranks; ++rank)
    moved += moved_elements(plan, Op::none, Op::none, homes, rank);
  for (const Forecast& f : forecast({.m = m, .n = n, .k = k, .ranks = ranks}, {}))
    received += f.received_bytes;
  EXPECT_EQ(8 * moved, received);
}

TEST(Slices, AreEveryRanksPartOfKChunksOfALeafInOrder) {
  for (const index_t k : {1000, 9000, 40000}) {
    const Plan plan = recursive_plan(shape_of(64, 96, k), 5);
    for (const index_t wanted : {1, 2, 7, 64}) {
      const auto slices = slices_of_k(plan, wanted);
      EXPECT_LE(slices.size(), static_cast<std::size_t>(2 * wanted));
      for (std::size_t rank = 0; rank < 5; ++rank) {
        std::vector<Range> mine;
        for (const auto& slice : slices) {
          if (!slice[rank].empty()) mine.push_back(slice[rank]);
        }
        const Leaves& leaves = plan.shape.leaves;
        std::map<index_t, index_t> reached;  // per leaf, in the order of slices
        for (const Range part : mine) {
          EXPECT_TRUE(part.end % leaves.chunk() == 0 || part.end == k);
          for (index_t leaf = 0; leaf < leaves.count(); ++leaf) {
            const Range in = intersect(part, Range{leaves.begin(leaf), leaves.begin(leaf + 1)});
            if (in.empty()) continue;
            EXPECT_EQ(in.begin, reached.count(leaf) != 0 ? reached[leaf] : leaves.begin(leaf));
            reached[leaf] = in.end;
          }
        }
        const Cuboid& c = plan.cuboids[rank];
        EXPECT_EQ(static_cast<index_t>(reached.size()), c.empty() ? 0 : c.leaves.size());
        for (const auto& [leaf, end] : reached) EXPECT_EQ(end, leaves.begin(leaf + 1));
      }
    }
  }
}

TEST(Slices, DoNotAskTheSameRanksForTheSameRows) {
  const mpi::Network network;
  const ForecastRequest request{.m = 60000, .n = 60000, .k = 30000, .ranks = 16};  // k is not split
  const auto whole = exchange_time(request, {}, network),
             sliced = exchange_time(request, {.slices = 8}, network);
  EXPECT_LT(sliced.alone, 0.3 * whole.alone);  // 1 if all began with the same rows of b
  EXPECT_LT(sliced.all(), 2 * whole.all());
}

TEST(Slices, MoveTheSameInMoreMessagesAndLessMemory) {
  const ForecastRequest request{.m = 4000, .n = 4000, .k = 4000, .ranks = 4};
  const auto whole = forecast(request, {}), sliced = forecast(request, {.slices = 8});
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(sliced[r].received_bytes, whole[r].received_bytes);
    EXPECT_EQ(sliced[r].sent_bytes, whole[r].sent_bytes);
    EXPECT_GE(sliced[r].messages, whole[r].messages);
    EXPECT_LT(sliced[r].work_bytes, 0.7 * static_cast<double>(whole[r].work_bytes));
  }
  const mpi::Network network;
  const auto all = exchange_time(request, {}, network),
             parts = exchange_time(request, {.slices = 8}, network);
  EXPECT_EQ(all.overlapped, 0);
  EXPECT_LT(parts.beyond(10), 0.5 * all.beyond(10));
  EXPECT_EQ(slices_that_pay(request, {}), 8);
  EXPECT_EQ(slices_that_pay({.m = 100, .n = 100, .k = 1000000, .ranks = 4}, {}),
            1);  // threads share k
  EXPECT_EQ(slices_that_pay({.m = 4000, .n = 4000, .k = 4000, .ranks = 4, .seen = all_seen}, {}),
            1);
}

TEST(Layouts, FollowTheOps) {
  const Plan plan = recursive_plan(shape_of(100, 60, 5000), 3);
  const auto plain = a_layout(plan, Op::none), turned = a_layout(plan, Op::transpose);
  EXPECT_EQ(turned.rows, plain.cols);
  for (index_t r = 0; r < 3; ++r) EXPECT_EQ(turned.of(r), transposed(plain.of(r)));
  EXPECT_EQ(b_layout(plan, Op::transpose).rows, 60);
  EXPECT_EQ(c_layout(plan).rows, 100);
}

}  // namespace
}  // namespace tessera::dist::matmul
