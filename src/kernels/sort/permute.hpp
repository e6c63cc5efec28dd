#pragma once
// Rows brought in another order where they lie.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/index.hpp"

namespace tessera::sort {

/// Rows of so many bytes each, one behind the other.
struct Rows {
  std::byte* data = nullptr;
  index_t bytes = 0;
  index_t n = 0;

  [[nodiscard]] std::byte* operator[](index_t row) const { return data + row * bytes; }
};

/// Numbers of rows that lie in part of some words: order[j] = word[j * stride] & mask.
struct OrderInWords {
  const std::uint64_t* word = nullptr;
  index_t stride = 1;
  std::uint64_t mask = ~std::uint64_t{0};

  [[nodiscard]] std::uint64_t operator[](index_t j) const { return word[j * stride] & mask; }
};

/// Row j becomes what was row order[j]; order is a permutation of 0 .. n-1. On the threads of the
/// region it is called in, with memory for a 256th of the rows and 4 bytes a row (8 from 2^32 rows
/// on).
void permute_in_place(const Rows& rows, const OrderInWords& order);
void permute_in_place(const Rows& rows, std::span<const std::uint64_t> order);
/// The same without those bytes a row: order[j] = words[j] & mask, and the words are overwritten.
void permute_in_place(const Rows& rows, std::span<std::uint64_t> words, std::uint64_t mask);

}  // namespace tessera::sort
