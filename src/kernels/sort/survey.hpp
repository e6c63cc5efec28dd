#pragma once
// Surveys: one pass over the keys that collects what the choice of a plan needs.

#include <algorithm>

#include "kernels/sort/key.hpp"

namespace tessera::inline v1::sort {

/// The results of one fused pass over mapped bits; all zero without keys.
struct Survey {
  std::uint64_t min = 0, max = 0;
  std::uint64_t varying = 0;  ///< bits that differ between some two keys
  index_t descents = 0;       ///< adjacent keys with key[i] > key[i+1]
  index_t ascents = 0;        ///< adjacent keys with key[i] < key[i+1]

  [[nodiscard]] std::uint64_t range() const { return max - min; }
};

/// Surveys the keys [begin, end) sequentially.
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

/// Surveys all keys, on the threads of the enclosing parallel region.
template <class Item>
[[nodiscard]] Survey survey(const Block<Item>& block);

/// The survey of some stretches of adjacent keys, a few thousand in total: enough to decide whether
/// a full survey may pay off. `keys`: the number of keys seen.
struct Glance : Survey {
  index_t keys = 0;
};
template <class Item>
[[nodiscard]] Glance glance(const Block<Item>& block);

}  // namespace tessera::inline v1::sort
