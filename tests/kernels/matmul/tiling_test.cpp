// The choice of tiles and cuts of device products, without a device.

#include "kernels/matmul/tiling.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.hpp"

namespace tessera::matmul {
namespace {

struct Large {
  static constexpr int m = 128, n = 256, k = 16, blocks = 1;
  static constexpr bool cut = false;
};
struct Small {
  static constexpr int m = 64, n = 64, k = 16, blocks = 6;
  static constexpr bool cut = true;
};
struct Tiny {
  static constexpr int m = 32, n = 32, k = 32, blocks = 3;
  static constexpr bool cut = true;
};
const std::vector<TileCost> tiles{cost_of<Large>({300, 300, 9000}), cost_of<Small>({100, 45, 4500}),
                                  cost_of<Tiny>({20, 16, 4000})};
constexpr TilingLimits h200{.multiprocessors = 132, .clusters = true};

TEST(Tiling, CutsNoSumIntoMorePartsThanItHasStages) {
  for (index_t number = 0; number < 2000; ++number) {
    const auto side = [&](std::uint64_t stream) {
      return 1 + static_cast<index_t>(random_bits(7, stream, number) %
                                      (std::uint64_t{1} << random_bits(8, stream, number) % 15));
    };
    const index_t m = side(0), n = side(1), k = side(2);
    const Tiling best = cheapest_tiling(tiles, m, n, k, h200);
    ASSERT_GE(best.cuts, 1);
    ASSERT_LE(best.cuts, tiles[static_cast<std::size_t>(best.tile)].most_cuts);
    ASSERT_LE(best.cuts, ceil_div(k, index_t{tiles[static_cast<std::size_t>(best.tile)].k}))
        << m << " x " << n << " x " << k;
    ASSERT_EQ(cheapest_tiling(tiles, m, n, k, {.multiprocessors = 132}).cuts, 1)
        << "where there are no clusters";
  }
}

TEST(Tiling, CutsLongSumsOfFewTilesAndNoneThatFillTheDevice) {
  EXPECT_EQ(cheapest_tiling(tiles, 40, 40, 8000, h200).cuts, 16);
  EXPECT_EQ(cheapest_tiling(tiles, 40, 40, 8000, h200).tile, 2);
  EXPECT_GT(cheapest_tiling(tiles, 500, 500, 4000, h200).cuts, 1);
  EXPECT_EQ(cheapest_tiling(tiles, 8192, 8192, 8192, h200).cuts, 1);
  EXPECT_EQ(cheapest_tiling(tiles, 8192, 8192, 8192, h200).tile, 0);
  EXPECT_EQ(cheapest_tiling(tiles, 8000, 8000, 16, h200).cuts, 1) << "one stage";
}

TEST(Tiling, WeighsWhatATileNeedsBeforeItBegins) {
  std::vector<TileCost> two(2, tiles[1]);
  two[1].busy = 40;
  EXPECT_EQ(cheapest_tiling(two, 4000, 4000, 4000, h200).tile, 1);
  two[1].before = 1e9;
  EXPECT_EQ(cheapest_tiling(two, 4000, 4000, 4000, h200).tile, 0);
}

}  // namespace
}  // namespace tessera::matmul
