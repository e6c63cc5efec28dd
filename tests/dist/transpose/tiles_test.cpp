#include "dist/transpose/tiles.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.hpp"

namespace tessera::dist::transpose {
namespace {

index_t volume(const std::vector<layout::Range>& ranges) {
  return std::accumulate(
      ranges.begin(), ranges.end(), index_t{1},
      [](index_t product, layout::Range range) { return product * range.size(); });
}

TEST(Tiles, CoverEveryElementOnceWithinTheLimit) {
  for (std::uint64_t c = 0; c < 200; ++c) {
    const auto draw = [&](std::uint64_t what, index_t low, index_t high) {
      return low + static_cast<index_t>(random_bits(7, c, static_cast<index_t>(what)) %
                                        static_cast<std::uint64_t>(high - low + 1));
    };
    Permutation p;
    const index_t rank = draw(0, 1, 4);
    for (index_t a = 0; a < rank; ++a) {
      p.extents.push_back(draw(10 + static_cast<std::uint64_t>(a), 0, 9));
      p.axes.push_back(static_cast<int>(a));
      if (c % 2 == 0) p.chunk.push_back(draw(20 + static_cast<std::uint64_t>(a), 1, 12));
    }
    for (std::size_t a = p.axes.size(); a-- > 1;)
      std::swap(p.axes[a],
                p.axes[static_cast<std::size_t>(draw(30 + a, 0, static_cast<index_t>(a)))]);
    p.bytes = draw(1, 1, 16);
    const index_t most = draw(2, 1, 4000);
    const Tiles tiles = plan_tiles(p, most);
    EXPECT_TRUE(tiles.bytes <= most || tiles.bytes == p.bytes);
    std::vector<int> seen(static_cast<std::size_t>(
        std::accumulate(p.extents.begin(), p.extents.end(), index_t{1}, std::multiplies<>())));
    for (index_t t = 0; t < tiles.total(); ++t) {
      const auto ranges = tiles.of(t, p.extents);
      EXPECT_LE(volume(ranges) * p.bytes, std::max(most, p.bytes));
      for (index_t e = 0; e < volume(ranges); ++e) {
        index_t position = 0, stride = 1, rest = e;
        for (std::size_t a = ranges.size(); a-- > 0;) {
          position += (ranges[a].begin + rest % ranges[a].size()) * stride;
          rest /= ranges[a].size();
          stride *= p.extents[a];
        }
        ++seen[static_cast<std::size_t>(position)];
      }
    }
    for (const int times : seen) EXPECT_EQ(times, 1);
  }
}

TEST(Tiles, AreSquareWhateverTheSizeOfTheMatrix) {
  const index_t limit = index_t{64} << 20;
  for (const index_t n : {index_t{20000}, index_t{1} << 20}) {
    const Tiles tiles = plan_tiles({{n, n}, {1, 0}, 8, {}}, limit);
    EXPECT_GE(tiles.read_run, 8 << 10);
    EXPECT_GE(tiles.write_run, 8 << 10);
    EXPECT_GE(tiles.bytes, limit / 4);
  }
}

TEST(Tiles, AreWholeChunksWhereTheLimitAllowsIt) {
  const Tiles tiles = plan_tiles({{10000, 10000}, {1, 0}, 8, {700, 300}}, 32 << 20);
  EXPECT_EQ(tiles.tile[0] % 700, 0);
  EXPECT_EQ(tiles.tile[1] % 300, 0);
  const Tiles small = plan_tiles({{10000, 10000}, {1, 0}, 8, {5000, 5000}}, 32 << 20);
  EXPECT_LE(small.bytes, 32 << 20);
}

TEST(Tiles, OfAnArrayThatFitsAreOne) {
  EXPECT_EQ(plan_tiles({{30, 20, 10}, {2, 0, 1}, 8, {}}, 1 << 20).total(), 1);
  EXPECT_EQ(plan_tiles({{30, 0, 10}, {2, 0, 1}, 8, {}}, 1 << 20).total(), 0);
}

}  // namespace
}  // namespace tessera::dist::transpose
