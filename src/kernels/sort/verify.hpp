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

/// The content, and whether it is in `order` by the mapped bits (key.hpp), neighbour by neighbour: one pass.
struct Inspection {
  Content content;
  bool sorted = true;
};
template <class T>
[[nodiscard]] Inspection inspect(std::span<const T> keys, Order order, std::uint64_t seed);

template <class T>
[[nodiscard]] bool is_sorted(std::span<const T> keys, Order order = Order::ascending) {
  return inspect(keys, order, 0).sorted;
}

}  // namespace tessera::sort
