#pragma once
// Copies between arrays of any strides.

#include "kernels/transpose/boxes.hpp"
#include "kernels/transpose/variants.hpp"

namespace tessera::inline v1::transpose {

/// Returns the task with its axes of more than one index in the order of `to`, fastest last.
[[nodiscard]] Rearrangement in_order_of_to(const Rearrangement& task);

/// Returns the same move of fewer, longer records: axes that are adjacent on both sides are one,
/// and a fastest axis that is contiguous on both sides is part of the record.
[[nodiscard]] Rearrangement simplified(const Rearrangement& task);

/// Moves the record at index (i, j, ...) from the sum of its indices times the `from` strides to
/// that of the `to` strides, in bytes, of 0 <= rank <= max_rank axes in any order: a permutation of
/// axes where they have another order on both sides. Records have any number of bytes >= 1 and need
/// no alignment; strides are at least 0, those of `to` such that no record meets another, and the
/// memory of both sides does not overlap. Where each side has an axis of contiguous records they
/// are moved by the kernels of transposes, otherwise one by one. Allocates nothing.
void move_strided(const Rearrangement& task, const std::byte* from, std::byte* to,
                  const Tuning& tuning);

}  // namespace tessera::inline v1::transpose
