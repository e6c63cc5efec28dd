#pragma once
// Axis permutations of N-dimensional arrays.

#include <span>

#include "kernels/transpose/boxes.hpp"
#include "kernels/transpose/variants.hpp"

namespace tessera::transpose {

/// Throws Error(usage) naming the argument unless axes has each of 0 .. shape.size() - 1 once,
/// there are at most 6 and no extent is negative.
void require_permutation(std::span<const index_t> shape, std::span<const int> axes);

/// to[i[axes[0]], ..., i[axes[r-1]]] = from[i[0], ..., i[r-1]]: axis k of `to` is axis axes[k] of
/// `from`. Both contiguous, last axis fastest, records of `bytes` bytes; 0 <= rank <= 6; axes is a
/// permutation. No overlap. Throws Error(usage) for other axes, records of no byte, and to == from.
void permute(std::span<const index_t> shape, std::span<const int> axes, index_t bytes,
             const std::byte* from, std::byte* to, const Tuning& tuning);

/// The same permutation on fewer axes: axes that stay neighbours merged, axes of length 1 dropped,
/// and a last axis that stays last taken into the record.
struct Merged {
  int rank = 0;
  index_t shape[max_rank] = {};
  int axes[max_rank] = {};
  index_t bytes = 1;  ///< of the records, now perhaps longer
};
[[nodiscard]] Merged merge(std::span<const index_t> shape, std::span<const int> axes,
                           index_t bytes);

}  // namespace tessera::transpose
