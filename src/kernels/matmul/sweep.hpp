#pragma once
// Orders of visiting the cells of C: column sweeps of width w, the last one narrower. Pure index
// arithmetic for CPU, CUDA and the cache simulators.

#include "base/index.hpp"

namespace tessera::inline v1::matmul {

struct Cell {
  index_t i;
  index_t j;
};

/// Returns cell number `step` of (m, n) cells: column by column, in each from the top row down,
/// each row left to right.
[[nodiscard]] TESSERA_HD constexpr Cell column_cell(index_t step, index_t m, index_t n,
                                                    index_t width) {
  const index_t column = step / (m * width);
  const index_t first = column * width;
  const index_t here = n - first < width ? n - first : width;
  const index_t within = step - m * first;
  return {within / here, first + within % here};
}

/// Returns cell number `step` in the same order, but with every other row right to left
/// (boustrophedon), so that consecutive cells are adjacent.
[[nodiscard]] TESSERA_HD constexpr Cell zigzag_cell(index_t step, index_t m, index_t n,
                                                    index_t width) {
  const Cell cell = column_cell(step, m, n, width);
  if (cell.i % 2 == 0) return cell;
  const index_t first = cell.j / width * width;
  const index_t here = n - first < width ? n - first : width;
  return {cell.i, first + (here - 1 - (cell.j - first))};
}

/// The orders in which threads, by number, take the cells.
enum class Walk { rows, column, zigzag };

[[nodiscard]] TESSERA_HD constexpr Cell cell_of(Walk walk, index_t step, index_t m, index_t n,
                                                index_t width) {
  switch (walk) {
    case Walk::column:
      return column_cell(step, m, n, width);
    case Walk::zigzag:
      return zigzag_cell(step, m, n, width);
    case Walk::rows:
      break;
  }
  return {step / n, step % n};
}

/// Returns the first cell of square tile number `block`, tiles row by row.
[[nodiscard]] TESSERA_HD constexpr Cell tile_corner(index_t block, index_t n, index_t tile) {
  const index_t across = (n + tile - 1) / tile;
  return {block / across * tile, block % across * tile};
}

}  // namespace tessera::inline v1::matmul
