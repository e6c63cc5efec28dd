// The arithmetic of the device kernels, on the CPU: tiles in shared memory and their bank conflicts, walks
// over tiles, plans, pieces.

#include "kernels/transpose/swizzle.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>

#include "kernels/transpose/pieces.hpp"
#include "kernels/transpose/vector_plan.hpp"

namespace tessera::transpose {
namespace {

/// Passes that shared memory needs to serve a warp of accesses to words of so many bytes: 32 banks of 4
/// bytes, served 128 bytes at a time.
int passes(const std::function<int(int lane)>& address, int word) {
  const int lanes = std::min(32, 128 / word);
  int worst = 0;
  for (int first = 0; first < 32; first += lanes) {
    std::array<std::set<int>, 32> rows;
    for (int lane = first; lane < first + lanes; ++lane) {
      for (int byte = 0; byte < word; byte += 4) {
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
using Sized = ::testing::Types<
    TurnTile<1, 128, Out::vectors>, TurnTile<1, 256, Out::vectors>, TurnTile<2, 128, Out::vectors>,
    TurnTile<2, 256, Out::vectors>, TurnTile<4, 128, Out::vectors>, TurnTile<4, 256, Out::vectors>,
    TurnTile<8, 256, Out::vectors>, TurnTile<8, 512, Out::vectors>, TurnTile<16, 256, Out::vectors>,
    TurnTile<16, 512, Out::vectors>, TurnTile<1, 128, Out::records>, TurnTile<2, 256, Out::records>,
    TurnTile<4, 128, Out::records>, TurnTile<4, 256, Out::records>, TurnTile<8, 512, Out::records>>;
TYPED_TEST_SUITE(Tiles, Sized);

constexpr bool by_vectors(Out out) { return out == Out::vectors; }
template <class Tile>
struct OutOf;
template <int bytes, int segment, Out out_>
struct OutOf<TurnTile<bytes, segment, out_>> {
  static constexpr Out out = out_;
};

TYPED_TEST(Tiles, GiveEveryByteAPlaceOfItsOwn) {
  using Tile = TypeParam;
  std::set<int> places;
  for (int row = 0; row < Tile::edge; ++row) {
    for (int at = 0; at < Tile::segment; ++at) {
      const int place = Tile::offset(row, at);
      EXPECT_TRUE(place >= 0 && place < Tile::size);
      EXPECT_EQ(place % 16, at % 16);
      places.insert(place);
    }
  }
  EXPECT_EQ(static_cast<int>(places.size()), Tile::size);
}

TYPED_TEST(Tiles, AreLeftByEveryRecordOnce) {
  using Tile = TypeParam;
  std::set<std::pair<int, int>> seen;
  for (int number = 0; number < Tile::patches; ++number) {
    const auto patch = Tile::patch(number);
    EXPECT_TRUE(patch.group >= 0 && patch.group < Tile::slots && patch.word >= 0 && patch.word < Tile::words);
    seen.insert({patch.group, patch.word});
  }
  EXPECT_EQ(static_cast<int>(seen.size()), Tile::patches);
  EXPECT_EQ(Tile::patches * Tile::vector * Tile::per_word, Tile::edge * Tile::edge);
  std::set<std::pair<index_t, index_t>> columns;
  for (int number = 0; number < Tile::columns; ++number) {
    const Cell cell = Tile::column(number);
    EXPECT_TRUE(cell.i < Tile::edge && cell.j < Tile::words);
    columns.insert({cell.i, cell.j});
  }
  EXPECT_EQ(static_cast<int>(columns.size()), Tile::columns);
}

TYPED_TEST(Tiles, MeetNoBankTwiceByVectors) {
  using Tile = TypeParam;
  for (int first = 0; first < Tile::slots * Tile::edge; first += 32) {
    const auto slot = [&](int lane) {
      return Tile::offset((first + lane) / Tile::slots, (first + lane) % Tile::slots * 16);
    };
    EXPECT_EQ(passes(slot, 16), 1);
  }
  if (!by_vectors(OutOf<Tile>::out)) return;
  for (int first = 0; first < Tile::patches; first += 32) {
    for (int row = 0; row < Tile::vector; ++row) {
      const auto word = [&](int lane) {
        const auto patch = Tile::patch(first + lane);
        return Tile::offset(patch.group * Tile::vector, patch.word * Tile::word) + row * Tile::segment;
      };
      EXPECT_EQ(passes(word, Tile::word), 1);
      const auto patch = Tile::patch(first);
      EXPECT_EQ(word(0), Tile::offset(patch.group * Tile::vector + row, patch.word * Tile::word));
    }
  }
}

TYPED_TEST(Tiles, MeetBanksAtMostFourTimesByRecords) {
  using Tile = TypeParam;
  if (by_vectors(OutOf<Tile>::out)) return;
  for (int first = 0; first < Tile::columns; first += 32) {
    const auto word = [&](int lane) {
      const Cell cell = Tile::column(first + lane);
      return Tile::offset(static_cast<int>(cell.i), static_cast<int>(cell.j) * Tile::word);
    };
    EXPECT_LE(passes(word, Tile::word), 4);
  }
}

TYPED_TEST(Tiles, FillLinesOfTheResult) {
  using Tile = TypeParam;
  for (int number = 0; number < Tile::patches; number += 8) {
    const auto first = Tile::patch(number);
    EXPECT_EQ(first.group % 8, 0);
    for (int lane = 1; lane < 8; ++lane) {
      EXPECT_EQ(Tile::patch(number + lane).group, first.group + lane);
      EXPECT_EQ(Tile::patch(number + lane).word, first.word);
    }
  }
}

TEST(TileOf, VisitsEveryTileOnceInEveryWalk) {
  for (const TileWalk walk : {TileWalk::rows, TileWalk::columns, TileWalk::strips, TileWalk::diagonal}) {
    for (const auto& [down, right] :
         {std::pair<index_t, index_t>{1, 1}, {5, 40}, {40, 5}, {17, 33}, {1, 9}}) {
      std::set<std::pair<index_t, index_t>> seen;
      for (index_t number = 0; number < down * right; ++number) {
        const Cell cell = tile_of(walk, number, down, right);
        EXPECT_TRUE(cell.i >= 0 && cell.i < down && cell.j >= 0 && cell.j < right);
        seen.insert({cell.i, cell.j});
      }
      EXPECT_EQ(static_cast<index_t>(seen.size()), down * right);
    }
  }
}

TEST(VectorPlan, TakesSmallTilesForSmallMatricesAndForAlignedRowsOfEightBytes) {
  alignas(16) std::byte at[32];
  const auto size = [&](index_t rows, index_t cols, index_t bytes, index_t skew) {
    return vector_plan({at, rows, cols, cols, bytes}, {at + skew, cols, rows, rows, bytes}, 132).size;
  };
  EXPECT_EQ(size(512, 512, 4, 0), VectorPlan::Size::small);
  EXPECT_EQ(size(8192, 8192, 4, 0), VectorPlan::Size::large);
  EXPECT_EQ(size(8192, 8192, 8, 0), VectorPlan::Size::small);
  EXPECT_EQ(size(8192, 8192, 8, 8), VectorPlan::Size::large);
  EXPECT_EQ(size(8000, 12345, 8, 0), VectorPlan::Size::large);
}

TEST(Pieces, CoverTheMatrixWithinTheirBytes) {
  for (const auto& [rows, cols] :
       {std::pair<index_t, index_t>{1, 1}, {7, 1000}, {1000, 7}, {333, 129}, {64, 64}}) {
    for (const index_t bytes : {1, 3, 8, 12, 16, 64}) {
      for (const index_t most : {1, 64, 1000, 5000, 1 << 20}) {
        const Pieces pieces = plan_pieces(rows, cols, bytes, most);
        index_t records = 0;
        for (index_t number = 0; number < pieces.count(); ++number) {
          const Block block = pieces.of(number);
          EXPECT_TRUE(block.i + block.rows <= rows && block.j + block.cols <= cols);
          EXPECT_GT(block.rows * block.cols, 0);
          EXPECT_LE(std::max(pieces.in_bytes(block), pieces.out_bytes(block)), std::max<index_t>(most, 64));
          records += block.rows * block.cols;
        }
        EXPECT_EQ(records, rows * cols);
      }
    }
  }
}

TEST(Pieces, HaveRowsOnSixteenBytesAndSidesOfWholeTiles) {
  for (const index_t bytes : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}) {
    for (const index_t cols : {1, 5, 16, 33}) {
      EXPECT_EQ(aligned_ld(cols, bytes) * bytes % 16, 0);
      EXPECT_GE(aligned_ld(cols, bytes), cols);
    }
  }
  const Pieces pieces = plan_pieces(50'000, 30'000, 8, index_t{64} << 20);
  EXPECT_EQ(pieces.piece.rows % 64, 0);
  EXPECT_EQ(pieces.piece.cols % 64, 0);
  EXPECT_GE(std::min(pieces.piece.rows, pieces.piece.cols) * 8, 8192);  // bytes of a run on either side
}

}  // namespace
}  // namespace tessera::transpose
