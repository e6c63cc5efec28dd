#pragma once
// Axis permutations of N-dimensional arrays, split along the first axis of the result. Every rank
// permutes its slab without communication.

#include <cstdint>
#include <span>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::inline v1::dist::transpose {

/// The part of an array that a rank permutes; pure arithmetic. Axis k of the result is axis axes[k]
/// of the array.
struct AxesPart {
  std::vector<layout::Range> from;  ///< the slab of the array, one range per axis
  std::vector<index_t> shape;       ///< extents of the slab
  index_t first_element = 0;  ///< offset of its permutation in the result, which is contiguous
  index_t elements = 0;
};
[[nodiscard]] AxesPart axes_part(std::span<const index_t> extents, std::span<const int> axes,
                                 index_t rank, index_t ranks);
/// Returns the extents of the result.
[[nodiscard]] std::vector<index_t> permuted(std::span<const index_t> extents,
                                            std::span<const int> axes);

/// A contiguous slab and the names of its axes: 0, 1, ... for the array, `axes` for its
/// permutation.
struct NamedSlab {
  const std::byte* data;
  std::span<const layout::Range> ranges;
  std::span<const int> names;
  index_t bytes;
};

/// Returns the sum over the slab of a hash of each element and its index on every named axis: equal
/// for an array and its permutation, however they are split.
[[nodiscard]] std::uint64_t slab_checksum(const NamedSlab& slab, std::uint64_t seed, int threads);

}  // namespace tessera::inline v1::dist::transpose
