#pragma once
// Axis permutations of N-dimensional arrays, split along the first axis of the result.

#include <cstdint>
#include <span>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::dist::transpose {

/// Which part of an array a rank permutes: pure arithmetic. Axis k of the result is axis axes[k] of
/// the array.
struct AxesPart {
  std::vector<layout::Range> from;  ///< the slab of the array, a range an axis
  std::vector<index_t> shape;       ///< its extents
  index_t first_element =
      0;  ///< where its permutation begins in the result, which is contiguous there
  index_t elements = 0;
};
[[nodiscard]] AxesPart axes_part(std::span<const index_t> extents, std::span<const int> axes,
                                 index_t rank, index_t ranks);
/// The extents of the result.
[[nodiscard]] std::vector<index_t> permuted(std::span<const index_t> extents,
                                            std::span<const int> axes);

/// A contiguous slab and what its axes are called: the array's own are 0, 1, ..., those of its
/// permutation are `axes`.
struct NamedSlab {
  const std::byte* data;
  std::span<const layout::Range> ranges;
  std::span<const int> names;
  index_t bytes;
};

/// The sum over the slab of a hash of each element and its index on every named axis: the same for
/// an array and its permutation, however they are split.
[[nodiscard]] std::uint64_t slab_checksum(const NamedSlab& slab, std::uint64_t seed, int threads);

}  // namespace tessera::dist::transpose
