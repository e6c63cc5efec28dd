#pragma once
// One pass over the keys that tells how to sort them.

#include <algorithm>

#include "kernels/sort/key.hpp"

namespace tessera::sort {

/// What one fused pass sees. Bits are mapped bits; of no keys, all are zero.
struct Survey {
  std::uint64_t min = 0, max = 0;
  std::uint64_t varying = 0;  ///< bits that differ between some two keys
  index_t descents = 0;       ///< neighbours with key[i] > key[i+1]
  index_t ascents = 0;        ///< neighbours with key[i] < key[i+1]

  [[nodiscard]] std::uint64_t range() const { return max - min; }
};

/// Of the keys [begin, end), one after the other.
template <class Item>
[[nodiscard]] Survey look_plainly(const Block<Item>& block, index_t begin, index_t end) {
  Survey seen{~std::uint64_t{0}, 0, 0, 0, 0};
  const auto key_at = [&](index_t i) -> std::uint64_t {
    return block.map.to_bits(key_of(block.data[i]));
  };
  const std::uint64_t one = key_at(begin);
  std::uint64_t before = key_at(std::max<index_t>(begin, 1) - 1);
  for (index_t i = begin; i < end; ++i) {
    const std::uint64_t key = key_at(i);
    seen.min = std::min(seen.min, key);
    seen.max = std::max(seen.max, key);
    seen.varying |= key ^ one;
    seen.descents += key < before ? 1 : 0;
    seen.ascents += before < key ? 1 : 0;
    before = key;
  }
  return seen;
}

/// Of all keys, in parallel on the threads of the region it is called in.
template <class Item>
[[nodiscard]] Survey survey(const Block<Item>& block);

/// Of some stretches of neighbours, a few thousand keys in all: enough to tell whether the survey
/// of all can promise anything. `keys` tells how many were seen.
struct Glance : Survey {
  index_t keys = 0;
};
template <class Item>
[[nodiscard]] Glance glance(const Block<Item>& block);

}  // namespace tessera::sort
