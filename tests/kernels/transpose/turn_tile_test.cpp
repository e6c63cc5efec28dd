// Tiles in a device's shared memory and their bank conflicts, counted on the CPU; plans.

#include "kernels/transpose/turn_tile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "kernels/transpose/tiles_test.hpp"
#include "kernels/transpose/turn_moves.hpp"

namespace tessera::transpose {
namespace {

/// Returns the passes in which shared memory serves a warp's accesses to words of `word` bytes: 32
/// banks of 4 bytes, 128 bytes at a time.
int passes(const std::function<int(int lane)>& address, int word) {
  const int lanes = std::min(32, 128 / word);
  int worst = 0;
  for (int first = 0; first < 32; first += lanes) {
    std::array<std::set<int>, 32> rows;
    for (int lane = first; lane < first + lanes; ++lane) {
      for (int byte = 0; byte < std::max(word, 4); byte += 4) {
        const int at = address(lane) + byte;
        rows[static_cast<std::size_t>(at / 4 % 32)].insert(at / 128);
      }
    }
    for (const auto& bank : rows) worst = std::max(worst, static_cast<int>(bank.size()));
  }
  return worst;
}

template <class Tile>
struct Tiles : public ::testing::Test {};
TYPED_TEST_SUITE(Tiles, EveryTile);

TYPED_TEST(Tiles, GiveEveryByteAPlaceOfItsOwnAndKeepVectors) {
  using Tile = TypeParam;
  std::set<int> places;
  constexpr int extra = 5;
  for (int row = 0; row < Tile::rows + extra; ++row) {
    for (int at = 0; at < Tile::pitch; ++at) {
      const int place = Tile::offset(row, at);
      EXPECT_TRUE(place >= 0 && place < Tile::size(extra));
      EXPECT_EQ(place % 16, at % 16);
      places.insert(place);
    }
  }
  EXPECT_EQ(static_cast<int>(places.size()), (Tile::rows + extra) * Tile::pitch);
}

TYPED_TEST(Tiles, AreLeftByEveryPatchOnceAndFillLinesOfTheResult) {
  using Tile = TypeParam;
  std::set<std::pair<int, int>> seen;
  for (int number = 0; number < Tile::patches; ++number) {
    const auto patch = Tile::patch(number), first = Tile::patch(number / 8 * 8);
    EXPECT_TRUE(patch.group >= 0 && patch.group < Tile::groups && patch.word >= 0 &&
                patch.word < Tile::words);
    EXPECT_EQ(patch.group, first.group + number % 8);
    EXPECT_EQ(first.group % 8, 0);
    EXPECT_EQ(patch.word, first.word);
    seen.insert({patch.group, patch.word});
  }
  EXPECT_EQ(static_cast<int>(seen.size()), Tile::patches);
}

TYPED_TEST(Tiles, MeetNoBankTwiceWhereRowsOfTheResultBeginOnVectors) {
  using Tile = TypeParam;
  for (int stride = 0; stride < 16; stride += Tile::bytes) {
    for (int first = 0; first < Tile::patches; first += 32) {
      for (int row = 0; row < Tile::vector; ++row) {
        const auto word = [&](int lane) {
          const auto patch = Tile::patch(first + lane);
          const int shift =
              row * stride % 16 / Tile::word * Tile::word;  // shorter records: reads two words
          return Tile::offset(patch.group * Tile::vector, patch.word * Tile::word) +
                 row * Tile::pitch + shift;
        };
        EXPECT_EQ(passes(word, Tile::word), 1);
      }
    }
  }
}

/// Passes for all strides of a and b modulo 16 bytes.
TYPED_TEST(Tiles, MeetBanksFewTimesInWindows) {
  using Tile = TypeParam;
  if (Tile::bytes == 16) return;
  for (int stride_a = 0; stride_a < 16; stride_a += Tile::bytes) {
    for (int stride_b = 0; stride_b < 32; stride_b += Tile::bytes) {
      for (int first = 0; first < std::min(Tile::vectors, 1024); first += 32) {
        const auto word = [&](int lane) {
          const int group = (first + lane) % Tile::groups, col = (first + lane) / Tile::groups;
          const int row =
              extra_rows<Tile>(32) - col * stride_b % 32 / Tile::bytes + group * Tile::vector;
          return Tile::offset(row, col * Tile::bytes + row * stride_a % 16);
        };
        EXPECT_LE(passes(word, Tile::bytes), 4);
      }
    }
  }
}

Tiling tiling(index_t rows, index_t cols, index_t bytes) {
  return vector_plan({nullptr, rows, cols, cols, bytes}, {nullptr, cols, rows, rows, bytes}, 132)
      .tiling;
}

TEST(VectorPlan, TakesSmallTilesForSmallMatricesAndLargeOnesWhereRowsBeginOffVectors) {
  for (const index_t bytes : {1, 2, 4}) EXPECT_EQ(tiling(511, 512, bytes), small_tiles) << bytes;
  EXPECT_EQ(tiling(512, 511, 8), square_tiles);
  EXPECT_EQ(tiling(8192, 8192, 4), square_tiles_of_words);
  EXPECT_EQ(tiling(12345, 8000, 4), square_tiles_of_words);
  EXPECT_EQ(tiling(8000, 12345, 4), wide_tiles);
  EXPECT_EQ(tiling(8192, 8192, 8), square_tiles);
  EXPECT_EQ(tiling(12345, 8000, 8), square_tiles);
  EXPECT_EQ(tiling(8000, 12345, 8), wide_tiles);
  EXPECT_EQ(tiling(8000, 12345, 16), square_tiles);
}

TEST(VectorPlan, OfShortRecordsTakesSmallTiles) {
  EXPECT_EQ(tiling(8192, 8192, 1), small_tiles);
  EXPECT_EQ(tiling(8001, 12345, 1), small_tiles);
  EXPECT_EQ(tiling(8192, 8192, 2), small_tiles);
  for (const auto& [rows, cols] :
       {std::pair<index_t, index_t>{8000, 12345}, {12345, 8000}, {8001, 12345}})
    EXPECT_EQ(tiling(rows, cols, 2), square_tiles) << rows;
}

/// Expects that every tiling is used by some plan.
template <int bytes>
void expect_plans_that_there_are() {
  std::array<int, tilings<bytes>.size()> planned{};
  for (const index_t n : {1, 100, 4095, 4096, 8192, 12345}) {
    const auto found = std::find(tilings<bytes>.begin(), tilings<bytes>.end(), tiling(n, n, bytes));
    ASSERT_NE(found, tilings<bytes>.end()) << n;
    ++planned[static_cast<std::size_t>(found - tilings<bytes>.begin())];
  }
  EXPECT_EQ(std::count(planned.begin(), planned.end(), 0), 0) << bytes;
}

TEST(VectorPlan, NamesTilesThatThereAre) {
  expect_plans_that_there_are<1>();
  expect_plans_that_there_are<2>();
  expect_plans_that_there_are<4>();
  expect_plans_that_there_are<8>();
  expect_plans_that_there_are<16>();
}

}  // namespace
}  // namespace tessera::transpose
