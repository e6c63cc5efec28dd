#pragma once
// Arrays of any number of axes on a grid of ranks, as distributed matrices.

#include <cstddef>
#include <vector>

#include "layout/distribution.hpp"

namespace tessera::inline v1::layout {

/// One axis of an array: its indices, and the segments of each of its parts.
struct AxisParts {
  index_t extent = 0;
  std::vector<Segments> parts;
  bool replicated = false;  ///< every part holds all indices

  [[nodiscard]] index_t size() const { return static_cast<index_t>(parts.size()); }
};
/// Return the axis in even consecutive parts; in blocks dealt out in turn; and whole, `parts`
/// times.
[[nodiscard]] AxisParts in_shares(const BlockMap& map);
[[nodiscard]] AxisParts in_blocks(const CyclicMap& map);
[[nodiscard]] AxisParts replicated(index_t extent, index_t parts);

/// An array on a grid with one dimension per axis: the rank at a place holds the product of the
/// parts of its axes, the last axis fastest in memory.
struct ArrayGrid {
  std::vector<AxisParts> axes;
  std::vector<index_t> ranks = {};  ///< by place, the last axis fastest; empty: 0, 1, 2, ...
};

/// Returns the indices of one axis that a rank holds; none for a rank without a place.
[[nodiscard]] Segments segments(const ArrayGrid& grid, std::size_t axis, index_t rank);

/// Returns the grid of the array with its axes permuted: axis k of the result is axis axes[k], and
/// every rank keeps its elements. Precondition: a permutation.
[[nodiscard]] ArrayGrid permuted(const ArrayGrid& grid, const std::vector<std::size_t>& axes);

/// Returns for two grids of one array the row_axes with which their matrices have the fewest
/// segments. Precondition: at least two axes.
[[nodiscard]] std::size_t fewest_segments(const ArrayGrid& a, const ArrayGrid& b);

}  // namespace tessera::inline v1::layout
