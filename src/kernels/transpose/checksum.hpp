#pragma once
// The index-mixed checksum: the sum over elements of mix64(bits ^ key(i, j)), i and j global; bits
// are an element's bytes, zero-extended, or its 8-byte words folded by mix64(folded) ^ word. It is
// invariant under the distribution of a matrix, and the checksum of a transpose with swapped
// indices equals that of the original. It detects a lost, duplicated, altered or misplaced element.

#include <span>

#include "base/hash.hpp"
#include "kernels/transpose/records.hpp"

namespace tessera::inline v1::transpose {

/// Returns the two halves of a position's key; separate, so that a row of keys takes one addition
/// each.
[[nodiscard]] TESSERA_HD constexpr std::uint64_t row_key(std::uint64_t seed, index_t i) {
  return mix64(seed ^ mix64(static_cast<std::uint64_t>(i)));
}
[[nodiscard]] TESSERA_HD constexpr std::uint64_t col_key(std::uint64_t seed, index_t j) {
  return mix64(~seed ^ mix64(static_cast<std::uint64_t>(j)));
}

enum class Indices { as_stored, swapped };

/// The position of a block in its matrix, and the index order of the hash.
struct Position {
  index_t row = 0;
  index_t col = 0;
  Indices indices =
      Indices::as_stored;  ///< swapped: for a transpose, element (i, j) counts as (j, i)
};

/// Returns the sum of the block's terms mod 2^64. threads as in Tuning.
[[nodiscard]] std::uint64_t checksum(const ConstRecords& block, const Position& position,
                                     std::uint64_t seed, int threads = 0);

}  // namespace tessera::inline v1::transpose
