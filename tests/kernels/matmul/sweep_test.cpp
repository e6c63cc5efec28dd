#include "kernels/matmul/sweep.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace tessera::matmul {
namespace {

TEST(Sweep, VisitsEveryCellOnce) {
  for (const index_t m : {1, 2, 7}) {
    for (const index_t n : {1, 5, 8, 13}) {
      for (const index_t width : {1, 3, 8, 100}) {
        std::vector<int> columns(static_cast<std::size_t>(m * n));
        std::vector<int> zigzags = columns;
        for (index_t step = 0; step < m * n; ++step) {
          const Cell column = column_cell(step, m, n, width);
          const Cell zigzag = zigzag_cell(step, m, n, width);
          ++columns[static_cast<std::size_t>(column.i * n + column.j)];
          ++zigzags[static_cast<std::size_t>(zigzag.i * n + zigzag.j)];
        }
        EXPECT_EQ(columns, std::vector<int>(columns.size(), 1));
        EXPECT_EQ(zigzags, std::vector<int>(zigzags.size(), 1));
      }
    }
  }
}

TEST(Sweep, ZigzagMovesByOneCellWithinAColumn) {
  const index_t m = 6;
  const index_t n = 10;
  const index_t width = 4;
  for (index_t step = 1; step < m * n; ++step) {
    const Cell before = zigzag_cell(step - 1, m, n, width);
    const Cell after = zigzag_cell(step, m, n, width);
    if (before.j / width != after.j / width) continue;
    EXPECT_EQ(std::abs(before.i - after.i) + std::abs(before.j - after.j), 1) << step;
  }
}

TEST(Sweep, TheLastColumnIsNarrower) {
  EXPECT_EQ(column_cell(6 * 8, 6, 10, 4).j, 8);
  EXPECT_EQ(column_cell(6 * 8 + 2, 6, 10, 4).i, 1);
}

}  // namespace
}  // namespace tessera::matmul
