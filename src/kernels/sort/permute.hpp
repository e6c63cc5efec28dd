#pragma once
// In-place permutation of rows.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/index.hpp"

namespace tessera::inline v1::sort {

/// Contiguous rows of `bytes` bytes each.
struct Rows {
  std::byte* data = nullptr;
  index_t bytes = 0;
  index_t n = 0;

  [[nodiscard]] std::byte* operator[](index_t row) const { return data + row * bytes; }
};

/// Permutes rows such that row j becomes the former row order[j]; order is a permutation of 0 ..
/// n-1. Runs on the threads of the enclosing parallel region, with memory for a 256th of the rows
/// and 4 bytes per row (8 from 2^32 rows on).
void permute_in_place(const Rows& rows, std::span<const std::uint64_t> order);

}  // namespace tessera::inline v1::sort
