// Distribution of tiles among thread blocks of a device.

#include "kernels/matmul/parts.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.hpp"

namespace tessera::matmul {
namespace {

/// Expects that every step of every tile is done once, whole tiles by one block, and that the sums
/// of a split tile meet at the block with its first part, which waits for exactly the blocks that
/// follow it.
void check(const Shares& shares) {
  const auto at = [&](int tile, int step) {
    return static_cast<std::size_t>(tile) * static_cast<std::size_t>(shares.steps) +
           static_cast<std::size_t>(step);
  };
  std::vector<int> done(at(shares.tiles, 0));
  std::vector<int> sent(static_cast<std::size_t>(shares.blocks),
                        -1);  // tile whose sums the block's slot contains
  for (int block = 0; block < shares.blocks; ++block) {
    Parts parts(shares, block);
    bool waited = false;
    for (Part part; parts.next(part);) {
      ASSERT_LT(part.tile, shares.tiles);
      ASSERT_FALSE(waited) << "block " << block << " waits before its work is done";
      for (int step = part.begin; step < part.end; ++step) ++done[at(part.tile, step)];
      int& slot = sent[static_cast<std::size_t>(block)];
      if (shares.adds_elsewhere(part)) {
        ASSERT_EQ(slot, -1) << "block " << block << " has one slot";
        slot = part.tile;
      }
      waited = !shares.adds_elsewhere(part) && shares.helpers(part, block) > 0;
    }
  }
  for (const int times : done) ASSERT_EQ(times, 1);
  std::vector<bool> taken(sent.size());
  for (int block = 0; block < shares.blocks; ++block) {
    Parts parts(shares, block);
    for (Part part; parts.next(part);) {
      if (shares.adds_elsewhere(part)) continue;
      for (int i = 1; i <= shares.helpers(part, block); ++i) {
        const auto helper = static_cast<std::size_t>(block + i);
        ASSERT_LT(helper, sent.size());
        ASSERT_EQ(sent[helper], part.tile);
        taken[helper] = true;
      }
    }
  }
  for (std::size_t block = 0; block < sent.size(); ++block)
    ASSERT_EQ(taken[block], sent[block] >= 0);
}

TEST(Parts, CoverEveryTileOnce) {
  for (index_t number = 0; number < 300; ++number) {
    const auto draw = [&](std::uint64_t stream, std::uint64_t below) {
      return static_cast<int>(random_bits(5, stream, number) % below);
    };
    const int blocks = 1 + draw(0, 140), tiles = 1 + draw(1, 700), steps = draw(2, 200);
    SCOPED_TRACE(testing::Message()
                 << tiles << " tiles of " << steps << " steps on " << blocks << " blocks");
    ASSERT_NO_FATAL_FAILURE(check(shares_of(tiles, steps, blocks)));
    for (const int whole : {0, tiles / blocks * blocks}) {  // few tiles, all of them split
      if ((tiles - whole) * steps < blocks) continue;
      ASSERT_NO_FATAL_FAILURE(check({tiles, steps, blocks, whole}));
    }
  }
}

TEST(Parts, EqualSharesWhereTheLastRoundWouldIdle) {
  const Shares shares = shares_of(1024, 256, 132);  // 7.76 rounds
  EXPECT_EQ(shares.whole, 6 * 132);
  for (int block = 0; block < shares.blocks; ++block) {
    const double share =
        static_cast<double>(shares.share_begin(block + 1) - shares.share_begin(block));
    EXPECT_NEAR(share, 1024.0 * 256 / 132 - 6 * 256, 1);
  }
  EXPECT_EQ(shares_of(264, 256, 132).whole, 264) << "even rounds stay whole";
  EXPECT_EQ(shares_of(200, 256, 132).whole, 200) << "so do few tiles";
  EXPECT_EQ(shares_of(512, 8, 132).whole, 512) << "and short sums";
}

}  // namespace
}  // namespace tessera::matmul
