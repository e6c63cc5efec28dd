#pragma once
// Orders in which the cells of C are visited: the output is swept in columns of a width w, the last
// one narrower. Pure index arithmetic, for CPU, CUDA and the cache simulators alike.

#include "base/index.hpp"

namespace tessera::matmul {

struct Cell {
  index_t i;
  index_t j;
};

/// Cell number `step` of the (m, n) cells: column by column, in each from the top row down, each
/// row left to right.
[[nodiscard]] TESSERA_HD constexpr Cell column_cell(index_t step, index_t m, index_t n,
                                                    index_t width) {
  const index_t column = step / (m * width);
  const index_t first = column * width;
  const index_t here = n - first < width ? n - first : width;
  const index_t within = step - m * first;
  return {within / here, first + within % here};
}

/// The same, every other row right to left, so that neighbours in time are neighbours in the
/// matrix.
[[nodiscard]] TESSERA_HD constexpr Cell zigzag_cell(index_t step, index_t m, index_t n,
                                                    index_t width) {
  const Cell cell = column_cell(step, m, n, width);
  if (cell.i % 2 == 0) return cell;
  const index_t first = cell.j / width * width;
  const index_t here = n - first < width ? n - first : width;
  return {cell.i, first + (here - 1 - (cell.j - first))};
}

/// The orders in which threads, numbered through, take the cells.
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

/// The first cell of square tile number `block`, tiles row by row.
[[nodiscard]] TESSERA_HD constexpr Cell tile_corner(index_t block, index_t n, index_t tile) {
  const index_t across = (n + tile - 1) / tile;
  return {block / across * tile, block % across * tile};
}

}  // namespace tessera::matmul
