#pragma once
// Index remappings: the cell of a rows x cols grid (of elements, tiles or thread blocks) at a
// position of the walk. Pure arithmetic, shared by CPU kernels, CUDA ladders and cache simulators.

#include <type_traits>

#include "base/index.hpp"

namespace tessera::inline v1::transpose {

struct Cell {
  index_t i = 0;
  index_t j = 0;
};

/// Returns the cell in row order. Index: the type in which positions are divided.
template <class Index>
[[nodiscard]] TESSERA_HD constexpr Cell row_order(Index position,
                                                  std::type_identity_t<Index> cols) {
  return {position / cols, position % cols};
}

/// Returns the cell in boustrophedon order (every other row backwards): consecutive cells are
/// always adjacent.
[[nodiscard]] TESSERA_HD constexpr Cell zigzag_order(index_t position, index_t cols) {
  const index_t i = position / cols;
  const index_t j = position % cols;
  return {i, i % 2 == 0 ? j : cols - 1 - j};
}

/// Returns the cell along wrapped diagonals: up to min(rows, cols) consecutive cells share no row
/// and no column, so power-of-two strides do not collide in one memory partition or cache set
/// (Ruetsch and Micikevicius 2009).
template <class Index>
[[nodiscard]] TESSERA_HD constexpr Cell diagonal_order(Index position,
                                                       std::type_identity_t<Index> rows,
                                                       std::type_identity_t<Index> cols) {
  const Index small = rows < cols ? rows : cols;
  const Index large = rows < cols ? cols : rows;
  const Index along = position % small;
  const Index across = (position / small + along) % large;
  return rows < cols ? Cell{along, across} : Cell{across, along};
}

}  // namespace tessera::inline v1::transpose
