#pragma once
// Block-cyclic distributions for tests, and memory for them.

#include <vector>

#include "dist/relayout/relayout.hpp"

namespace tessera::dist::relayout {

/// Block-cyclic on a grid as square as the ranks allow.
[[nodiscard]] inline layout::Distribution cyclic(index_t rows, index_t cols, index_t block,
                                                 index_t ranks) {
  const layout::ProcessGrid grid = layout::nearest_square(ranks, rows, cols);
  return {layout::BlockCyclic{{rows, block, grid.rows}, {cols, block, grid.cols}}, ranks};
}

/// Local memory of this rank for one array.
[[nodiscard]] inline std::vector<double> memory_of(const layout::Distribution& x, index_t rank,
                                                   StorageOrder order, index_t& ld) {
  const layout::Box box = x.local_box(rank, 0);
  const index_t rows = box.rows.end, cols = box.cols.end;
  ld = order == StorageOrder::row_major ? cols : rows;
  return std::vector<double>(static_cast<std::size_t>(rows * cols), -1);
}

}  // namespace tessera::dist::relayout
