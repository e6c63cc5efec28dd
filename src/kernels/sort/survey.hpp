#pragma once
// One pass over the keys that tells how to sort them.

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

/// Of all keys, in parallel on the threads of the region it is called in.
template <class Item>
[[nodiscard]] Survey survey(const Block<Item>& block);

/// Of some stretches of neighbours, a few thousand keys in all: enough to tell whether the survey of all can
/// promise anything. `keys` tells how many were seen.
struct Glance : Survey {
  index_t keys = 0;
};
template <class Item>
[[nodiscard]] Glance glance(const Block<Item>& block);

}  // namespace tessera::sort
