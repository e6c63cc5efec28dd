#pragma once
// Any permutation of axes, box by box: for arrays whose fastest axes are short, and for records of
// any length.

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/records.hpp"

namespace tessera::inline v1::transpose {

inline constexpr int max_rank = 6;

/// The extent of an axis and its strides in bytes on both sides.
struct Axis {
  index_t extent = 1;
  index_t from = 0, to = 0;
};

/// An axis permutation: the record at index (i, j, ...) moves from the sum of its indices times the
/// `from` strides to the sum of its indices times the `to` strides. Axes are in the order of `to`,
/// fastest last; every extent is at least 1; the records of the fastest axis of either side are
/// contiguous.
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

/// Executes the permutation with ordinary or streaming stores, in parallel within a team.
/// Preconditions: the two fastest axes differ; no overlap.
void rearrange(const Rearrangement& task, const std::byte* from, std::byte* to, Store store);

/// Computes b = transpose(a) with streaming stores, as part of a result that exceeds the caches;
/// for records with or without a leaf.
void transpose_past_caches(const ConstRecords& a, const Records& b, int threads);

}  // namespace tessera::inline v1::transpose
