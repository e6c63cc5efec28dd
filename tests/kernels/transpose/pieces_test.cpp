// Pieces of a matrix that is streamed through a device.

#include "kernels/transpose/pieces.hpp"

#include <gtest/gtest.h>

namespace tessera::transpose {
namespace {

TEST(Pieces, CoverTheMatrixWithinTheirBytes) {
  for (const auto& [rows, cols] :
       {std::pair<index_t, index_t>{1, 1}, {7, 1000}, {1000, 7}, {333, 129}, {64, 64}}) {
    for (const index_t bytes : {1, 3, 8, 12, 16, 64}) {
      for (const index_t most : {1, 64, 1000, 5000, 1 << 20}) {
        const Pieces pieces = plan_pieces(rows, cols, bytes, most);
        index_t records = 0;
        for (index_t number = 0; number < pieces.count(); ++number) {
          const Submatrix block = pieces.of(number);
          EXPECT_TRUE(block.i + block.rows <= rows && block.j + block.cols <= cols);
          EXPECT_GT(block.rows * block.cols, 0);
          EXPECT_LE(std::max(pieces.in_bytes(block), pieces.out_bytes(block)),
                    std::max<index_t>(most, 64));
          records += block.rows * block.cols;
        }
        EXPECT_EQ(records, rows * cols);
      }
    }
  }
}

TEST(Pieces, HaveSidesOfWholeTiles) {
  const Pieces pieces = plan_pieces(50'000, 30'000, 8, index_t{64} << 20);
  EXPECT_EQ(pieces.piece.rows % 64, 0);
  EXPECT_EQ(pieces.piece.cols % 64, 0);
  EXPECT_GE(std::min(pieces.piece.rows, pieces.piece.cols) * 8,
            8192);  // bytes of a run on either side
}

}  // namespace
}  // namespace tessera::transpose
