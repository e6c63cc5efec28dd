#pragma once
// Is a block sorted, and does it hold what it held before?

#include <cstdint>
#include <span>

#include "kernels/sort/key.hpp"

namespace tessera::sort {

/// What is summed over blocks and compared between input and output: the count and a seeded multiset hash.
struct Content {
  index_t count = 0;
  std::uint64_t hash = 0;  ///< sum of mix64(bits ^ seed) mod 2^64, of the unmapped representation
  friend bool operator==(const Content&, const Content&) = default;
};

/// Sums of the block's content; blocks' sums add up. In parallel on the threads of the region it is called
/// in.
template <class T>
[[nodiscard]] Content content(std::span<const T> keys, std::uint64_t seed);

/// In `order` by the mapped bits (key.hpp), neighbour by neighbour.
template <class T>
[[nodiscard]] bool is_sorted(std::span<const T> keys, Order order = Order::ascending);

}  // namespace tessera::sort
