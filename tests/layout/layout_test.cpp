#include <gtest/gtest.h>

#include <algorithm>

#include "layout/block_map.hpp"
#include "layout/matrix_layout.hpp"

namespace tessera::layout {
namespace {

TEST(BlockMap, SizesDifferByAtMostOne) {
  for (const index_t extent : {0, 1, 2, 6, 7, 13, 100}) {
    for (const index_t parts : {1, 2, 3, 7, 20}) {
      const BlockMap map(extent, parts);
      index_t next = 0, least = extent, most = 0;
      for (index_t p = 0; p < parts; ++p) {
        EXPECT_EQ(map.begin(p), next);
        next += map.size(p);
        least = std::min(least, map.size(p));
        most = std::max(most, map.size(p));
      }
      EXPECT_EQ(next, extent);
      EXPECT_LE(most - least, 1);
      for (index_t i = 0; i < extent; ++i) {
        const Range range = map.range(map.owner(i));
        EXPECT_TRUE(range.begin <= i && i < range.end) << extent << " " << parts << " " << i;
      }
    }
  }
}

TEST(BlockMap, CutsAtGranules) {
  const BlockMap map(1000, 3, 256);
  EXPECT_EQ(map.offsets(), (std::vector<index_t>{0, 512, 768, 1000}));
  for (const index_t i : {0, 511, 512, 767, 768, 999}) {
    EXPECT_TRUE(map.range(map.owner(i)).begin <= i && i < map.range(map.owner(i)).end);
  }
}

TEST(BlockMap, DoesNotOverflowNear64Bits) {
  const index_t huge = (index_t{1} << 62) + 5;
  const BlockMap map(huge, 1000);
  EXPECT_EQ(map.begin(1000), huge);
  EXPECT_EQ(map.owner(huge - 1), 999);
}

TEST(NearestSquare, FollowsTheShape) {
  EXPECT_EQ(nearest_square(6, 100, 100).size(), 6);
  EXPECT_EQ(nearest_square(4, 100, 100).rows, 2);
  EXPECT_EQ(nearest_square(4, 10000, 10).rows, 4);
  EXPECT_EQ(nearest_square(4, 10, 10000).cols, 4);
  EXPECT_EQ(nearest_square(7, 100, 100).size(), 7);
}

TEST(MatrixLayout, PiecesCoverTheNeedExactlyOnce) {
  const MatrixLayout home = row_blocks(13, 9, 5);
  const ProcessGrid grid{2, 3};
  MatrixLayout need = grid_blocks(BlockMap(13, 2), BlockMap(9, 3), grid);
  need.boxes.resize(5);  // without a sixth rank no rank requests its part
  for (index_t rank = 0; rank < 5; ++rank) {
    index_t area = 0;
    for (const PeerBlock& piece : incoming(home, need, rank)) {
      EXPECT_EQ(intersect(piece.box, need.of(rank)), piece.box);
      EXPECT_EQ(intersect(piece.box, home.of(piece.peer)), piece.box);
      area += piece.box.area();
    }
    EXPECT_EQ(area, need.of(rank).area());
  }
}

TEST(MatrixLayout, OutgoingMirrorsIncoming) {
  const MatrixLayout home = row_blocks(20, 7, 6),
                     need = grid_blocks(BlockMap(20, 3), BlockMap(7, 2), {3, 2});
  index_t out = 0, in = 0;
  for (index_t rank = 0; rank < 6; ++rank) {
    for (const PeerBlock& piece : outgoing(home, need, rank)) {
      const auto there = incoming(home, need, piece.peer);
      EXPECT_EQ(std::count(there.begin(), there.end(), PeerBlock{rank, piece.box}), 1);
      out += piece.peer == rank ? 0 : piece.box.area();
    }
    in += need.of(rank).area() - intersect(need.of(rank), home.of(rank)).area();
  }
  EXPECT_EQ(out, in);
}

TEST(MatrixLayout, MoreRanksThanRowsLeavesSomeEmpty) {
  const MatrixLayout layout = row_blocks(2, 5, 4);
  EXPECT_EQ(layout.of(0).area(), 5);
  EXPECT_TRUE(layout.of(3).empty());
  EXPECT_TRUE(outgoing(layout, layout, 3).empty());
}

TEST(Box, HasATextForMessages) { EXPECT_EQ(text(Box{{0, 10}, {5, 20}}), "[0:10, 5:20)"); }

TEST(MatrixLayout, TransposesAndCountsInBytes) {
  const MatrixLayout rows = row_blocks(7, 5, 3);
  const MatrixLayout turned = transposed(rows);
  EXPECT_EQ(turned.rows, 5);
  EXPECT_EQ(turned.of(1), (Box{{0, 5}, {3, 5}}));
  EXPECT_EQ(transposed(turned), rows);
  const MatrixLayout bytes = in_bytes(turned, 12);
  EXPECT_EQ(bytes.cols, 84);
  EXPECT_EQ(bytes.of(1), (Box{{0, 5}, {36, 60}}));
}

TEST(MatrixLayout, ResidentBytesAreWholeRowsWhereGapsAreShort) {
  constexpr index_t page = 4096;
  EXPECT_EQ(resident_bytes({{0, 3}, {5, 5}}, 100, 8, page), 0);
  EXPECT_EQ(resident_bytes({{2, 7}, {0, 1000}}, 1000, 8, page), 5 * 8000);  // contiguous
  EXPECT_EQ(resident_bytes({{0, 10}, {0, 1000}}, 100000, 8, page), 10 * (8000 + page));
  EXPECT_EQ(resident_bytes({{0, 10}, {0, 900}}, 1000, 8, page), 10 * 8000);
}

}  // namespace
}  // namespace tessera::layout
