#pragma once
// The loops of the textbook variants, written once: a kernel passes a `move` that copies element
// (i, j), a cache simulator one that reports its addresses.

#include <algorithm>
#include <vector>

#include "kernels/transpose/remap.hpp"

namespace tessera::inline v1::transpose {

struct Submatrix {
  index_t i = 0, j = 0, rows = 0, cols = 0;
};

/// Calls move(i, j) row by row.
template <class Move>
void walk_rows(const Submatrix& block, const Move& move) {
  for (index_t i = block.i; i < block.i + block.rows; ++i) {
    for (index_t j = block.j; j < block.j + block.cols; ++j) move(i, j);
  }
}

/// Calls move(i, j) in column-based order: strips of `width` columns, each row by row.
template <class Move>
void walk_columns(const Submatrix& block, index_t width, const Move& move) {
  for (index_t left = 0; left < block.cols; left += width) {
    walk_rows({block.i, block.j + left, block.rows, std::min(width, block.cols - left)}, move);
  }
}

enum class Order { rows, zigzag, diagonal };

/// Returns the tile of side `tile` at a position of the walk over all tiles of a rows x cols
/// matrix.
[[nodiscard]] inline Submatrix tile_at(index_t position, index_t rows, index_t cols, index_t tile,
                                       Order order) {
  const index_t down = ceil_div(rows, tile);
  const index_t right = ceil_div(cols, tile);
  Cell cell{};
  switch (order) {
    case Order::rows:
      cell = row_order(position, right);
      break;
    case Order::zigzag:
      cell = zigzag_order(position, right);
      break;
    case Order::diagonal:
      cell = diagonal_order(position, down, right);
      break;
  }
  return {cell.i * tile, cell.j * tile, std::min(tile, rows - cell.i * tile),
          std::min(tile, cols - cell.j * tile)};
}

/// Returns the split of the recursion: about half of `length`, on a multiple of `grain`.
[[nodiscard]] constexpr index_t halve(index_t length, index_t grain) {
  return round_up(ceil_div(length, 2), grain);
}

/// The largest block that is not halved further.
struct LeafShape {
  index_t rows = 0, cols = 0;
};

/// Cache-oblivious walk (Frigo et al. 1999): halves the side that is longer, in leaves, until one
/// leaf remains, then calls visit(block); both(block, left, right) runs the halves of a block, in
/// sequence or as tasks.
template <class Visit, class Both>
void walk_halves(const Submatrix& block, const LeafShape& leaf, const Visit& visit,
                 const Both& both) {
  if (block.rows <= leaf.rows && block.cols <= leaf.cols) {
    visit(block);
    return;
  }
  Submatrix first = block;
  Submatrix second = block;
  if (block.rows * leaf.cols >= block.cols * leaf.rows) {
    first.rows = halve(block.rows, leaf.rows);
    second.i += first.rows;
    second.rows -= first.rows;
  } else {
    first.cols = halve(block.cols, leaf.cols);
    second.j += first.cols;
    second.cols -= first.cols;
  }
  both(
      block, [&] { walk_halves(first, leaf, visit, both); },
      [&] { walk_halves(second, leaf, visit, both); });
}

/// Replaces `leaves` by the blocks that walk_halves visits, in its order.
inline void list_leaves(const Submatrix& block, const LeafShape& leaf,
                        std::vector<Submatrix>& leaves) {
  leaves.clear();
  walk_halves(
      block, leaf, [&](const Submatrix& each) { leaves.push_back(each); },
      [](const Submatrix&, const auto& left, const auto& right) {
        left();
        right();
      });
}

}  // namespace tessera::inline v1::transpose
