#pragma once
// The points that a thread stores in a pass over a solid, and the ends of the field among them.

#include "kernels/stencil/cuda_passes.hpp"

namespace tessera::inline v1::stencil {

/// The part of a tile that a block stores: planes [low, high), rows and points.
struct KeptSolid {
  int low, high, low_y, high_y, low_x, high_x;
};

/// Flags of a thread's rows and of the elements of its vectors in one register, because sums need
/// the others.
class Marks {
  unsigned bits = 0;
  enum : unsigned {
    row = 0,
    element = 12,
    first_row = 20,
    first_element,
    adjacent,
    vectors,
    last_row = 24,
    last_element = 28
  };
  /// Returns which of the `count` points from `first` on is the last one of an axis; `count` if
  /// none is.
  __device__ __forceinline__ static unsigned last_of(const Axis& axis, int first, int count) {
    const int end = static_cast<int>(axis.end);
    return static_cast<unsigned>(
        axis.edge[1] && first < end && end - first <= count ? end - 1 - first : count);
  }

 public:
  /// Computes the flags of `rows` rows from y on and `length` elements from x on.
  __device__ Marks(const Axis& across, int y, int rows, const Axis& along, int x, int length,
                   const KeptSolid& kept) {
    for (int j = 0; j < rows; ++j)
      bits |= unsigned{y + j >= kept.low_y && y + j < kept.high_y}
              << (row + static_cast<unsigned>(j));
    for (int e = 0; e < length; ++e)
      bits |= unsigned{x + e >= kept.low_x && x + e < kept.high_x}
              << (element + static_cast<unsigned>(e));
    bits |= unsigned{across.edge[0] && y == across.begin} << first_row;
    bits |= unsigned{along.edge[0] && x == along.begin} << first_element;
    const bool whole = along.wrapped && along.begin % length == 0 && along.end % length == 0;
    const bool within = x >= along.begin && x + length <= along.end;
    bits |= unsigned{y >= across.begin && y + rows <= across.end && within} << adjacent;
    bits |= unsigned{!along.wrapped || whole || within} << vectors;
    bits |= last_of(across, y, rows) << last_row | last_of(along, x, length) << last_element;
  }
  __device__ __forceinline__ bool keeps_row(int j) const { return bits >> (row + j) & 1U; }
  __device__ __forceinline__ bool keeps_element(int e) const { return bits >> (element + e) & 1U; }
  __device__ __forceinline__ bool keeps_all(int length) const {
    const unsigned all = (1U << length) - 1;
    return (bits >> element & all) == all;
  }
  /// Returns whether the first row, or element, is the first of the field.
  __device__ __forceinline__ bool begins_rows() const { return bits >> first_row & 1U; }
  __device__ __forceinline__ bool begins_row() const { return bits >> first_element & 1U; }
  /// Returns whether all rows and elements are read contiguously.
  __device__ __forceinline__ bool reads_adjacent() const { return bits >> adjacent & 1U; }
  /// Returns whether the elements of a row are contiguous, or never used (vector_to_read).
  __device__ __forceinline__ bool reads_vectors() const { return bits >> vectors & 1U; }
  /// Returns which row, or element, is the last of the field; their number if none is.
  __device__ __forceinline__ int ends_rows() const {
    return static_cast<int>(bits >> last_row & 15U);
  }
  __device__ __forceinline__ int ends_row() const {
    return static_cast<int>(bits >> last_element & 15U);
  }
};

}  // namespace tessera::inline v1::stencil
