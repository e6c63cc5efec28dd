#pragma once
// Axis permutations of N-dimensional arrays.

#include <span>

#include "kernels/transpose/boxes.hpp"
#include "kernels/transpose/variants.hpp"

namespace tessera::inline v1::transpose {

/// Throws Error(usage) with the argument's name unless axes has each of 0 .. shape.size() - 1 once,
/// there are at most 6 axes and no extent is negative.
void require_permutation(std::span<const index_t> shape, std::span<const int> axes);

/// Permutes axes: to[i[axes[0]], ..., i[axes[r-1]]] = from[i[0], ..., i[r-1]], so axis k of `to` is
/// axis axes[k] of `from`. Both arrays are contiguous, last axis fastest, with records of `bytes`
/// bytes; 0 <= rank <= 6. No overlap. Throws Error(usage) if axes is no permutation, records have
/// no bytes, or to == from.
void permute(std::span<const index_t> shape, std::span<const int> axes, index_t bytes,
             const std::byte* from, std::byte* to, const Tuning& tuning);

/// The same permutation on fewer axes: adjacent axes that stay adjacent are merged, axes of length
/// 1 dropped, and a last axis that stays last is absorbed into the record.
struct Merged {
  int rank = 0;
  index_t shape[max_rank] = {};
  int axes[max_rank] = {};
  index_t bytes = 1;  ///< of the merged records
};
[[nodiscard]] Merged merge(std::span<const index_t> shape, std::span<const int> axes,
                           index_t bytes);

}  // namespace tessera::inline v1::transpose
