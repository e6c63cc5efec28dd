#pragma once
// Any permutation of axes, box by box: for arrays whose fastest axes are short, and records of any
// length.

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/records.hpp"

namespace tessera::transpose {

inline constexpr int max_rank = 6;

/// Bytes from an index of an axis to the next one, on both sides.
struct Axis {
  index_t extent = 1;
  index_t from = 0, to = 0;
};

/// The record at index (i, j, ...) goes from the sum of its indices' `from` to the sum of their
/// `to`. Axes in the order of `to`, fastest last; every extent is at least 1; the fastest one of
/// either side has records that follow each other.
struct Rearrangement {
  int rank = 0;
  Axis axis[max_rank];
  index_t bytes = 1;  ///< of a record

  [[nodiscard]] index_t total() const {
    index_t product = bytes;
    for (int k = 0; k < rank; ++k) product *= axis[k].extent;
    return product;
  }
};

/// The two fastest axes differ. Ordinary or streaming stores. Shared out where there is a team. No
/// overlap.
void rearrange(const Rearrangement& task, const std::byte* from, std::byte* to, Store store);

/// b = transpose(a) past the caches, as part of a result that they do not hold; records with a leaf
/// or not.
void transpose_past_caches(const ConstRecords& a, const Records& b, int threads);

}  // namespace tessera::transpose
