#include "run/shares.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "layout/block_map.hpp"

namespace tessera::run {
namespace {

Values point(const std::string& gpu_ranks, const std::string& shares) {
  Values values;
  values.set("gpu-ranks", gpu_ranks);
  values.set("shares", shares);
  values.set("plan", "false");
  values.set("ranks", "");
  return values;
}

TEST(Shares, AllRanksOfANodeDriveItsGpusUnlessFewerAreNamed) {
  EXPECT_EQ(drivers_of_node(point("0", "auto"), 4), 4);
  EXPECT_EQ(drivers_of_node(point("1", "auto"), 4), 1);
  EXPECT_EQ(drivers_of_node(point("9", "auto"), 4), 4);
  EXPECT_EQ(drivers_of_node(Values(), 4), 4) << "a workload without the option";
}

TEST(Shares, SpeedsAreKeptToTwoDigits) {
  EXPECT_DOUBLE_EQ(two_digits(1), 1);
  EXPECT_DOUBLE_EQ(two_digits(0.012345), 0.012);
  EXPECT_DOUBLE_EQ(two_digits(41.7e12), 42e12);
  EXPECT_DOUBLE_EQ(two_digits(9.96), 10);
}

TEST(Shares, NeighboursThatAreAlikeStandTogether) {
  EXPECT_EQ(text_of_weights({}), "");
  EXPECT_EQ(text_of_weights({41000, 210, 210, 210}), "4.1e+04, 2.1e+02 x 3");
  EXPECT_EQ(text_of_weights({1, 1, 2, 1}), "1 x 2, 2, 1");
  EXPECT_EQ(text_of_weights({2.5e9, 1e9, 1e9}, 1e9), "2.5, 1 x 2");
}

TEST(WeightedOffsets, GoByTheWeights) {
  EXPECT_EQ(layout::weighted_offsets(100, {1, 1, 1, 1}),
            (std::vector<index_t>{0, 25, 50, 75, 100}));
  EXPECT_EQ(layout::weighted_offsets(100, {97, 1, 1, 1}),
            (std::vector<index_t>{0, 97, 98, 99, 100}));
  EXPECT_EQ(layout::weighted_offsets(0, {3, 1}), (std::vector<index_t>{0, 0, 0}));
  EXPECT_EQ(layout::weighted_offsets(1, {1, 1, 1}).back(), 1);
  const std::vector<double> weights{0.3, 1e-9, 41000, 210.5, 7};
  for (const index_t extent : {index_t{1}, index_t{17}, index_t{1000003}, index_t{1} << 40}) {
    const auto offsets = layout::weighted_offsets(extent, weights);
    ASSERT_EQ(offsets.size(), weights.size() + 1);
    EXPECT_EQ(offsets.front(), 0);
    EXPECT_EQ(offsets.back(), extent);
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t r = 0; r < weights.size(); ++r) {
      EXPECT_NEAR(static_cast<double>(offsets[r + 1] - offsets[r]),
                  weights[r] / all * static_cast<double>(extent), 1.01);
    }
  }
}

TEST(WeightedOffsets, LeaveNobodyLessThanTheLeast) {
  EXPECT_EQ(layout::weighted_offsets(10, {1000, 1, 1}, 2), (std::vector<index_t>{0, 6, 8, 10}));
  EXPECT_EQ(layout::weighted_offsets(10, {1, 1, 1000}, 2), (std::vector<index_t>{0, 2, 4, 10}));
  EXPECT_EQ(layout::weighted_offsets(10, {1, 1000, 1}, 2), (std::vector<index_t>{0, 2, 8, 10}));
  EXPECT_EQ(layout::weighted_offsets(6, {1e-9, 7, 1}, 2), (std::vector<index_t>{0, 2, 4, 6}));
  const std::vector<double> weights{0.3, 1e-9, 41000, 210.5, 7};
  for (const index_t extent : {15, 16, 29, 1000}) {
    const auto offsets = layout::weighted_offsets(extent, weights, 3);
    EXPECT_EQ(offsets.front(), 0);
    EXPECT_EQ(offsets.back(), extent);
    for (std::size_t r = 0; r < weights.size(); ++r) EXPECT_GE(offsets[r + 1] - offsets[r], 3);
  }
}

}  // namespace
}  // namespace tessera::run
