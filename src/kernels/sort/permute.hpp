#pragma once
// In-place permutation of rows.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/index.hpp"

namespace tessera::sort {

/// Contiguous rows of `bytes` bytes each.
struct Rows {
  std::byte* data = nullptr;
  index_t bytes = 0;
  index_t n = 0;

  [[nodiscard]] std::byte* operator[](index_t row) const { return data + row * bytes; }
};

/// Row numbers in the low bits of strided words: order[j] = word[j * stride] & mask.
struct OrderInWords {
  const std::uint64_t* word = nullptr;
  index_t stride = 1;
  std::uint64_t mask = ~std::uint64_t{0};

  [[nodiscard]] std::uint64_t operator[](index_t j) const { return word[j * stride] & mask; }
};

/// Permutes rows such that row j becomes the former row order[j]; order is a permutation of 0 ..
/// n-1. Runs on the threads of the enclosing parallel region, with memory for a 256th of the rows
/// and 4 bytes per row (8 from 2^32 rows on).
void permute_in_place(const Rows& rows, const OrderInWords& order);
void permute_in_place(const Rows& rows, std::span<const std::uint64_t> order);
/// Permutes likewise without those bytes per row: order[j] = words[j] & mask, and the words are
/// overwritten.
void permute_in_place(const Rows& rows, std::span<std::uint64_t> words, std::uint64_t mask);

}  // namespace tessera::sort
