#pragma once
// Textbook counting sort (Seward 1954; Cormen et al. 2009, 8.2): one counter per possible key,
// exclusive scan, stable placement. O(n + range), sequential. Counters and output are accessed at
// random, which counting_bucketed avoids. A template for plain and traced keys.

#include "base/stages.hpp"
#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/survey.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::sort {

// The shapes of counting_bucketed.
inline constexpr std::uint64_t one_pass_range =
    1 << 13;  // u32 counters: 32 KiB, most of a first-level cache
inline constexpr index_t most_counted_buckets = 1 << 12;
inline constexpr index_t aimed_slots =
    1 << 15;  // counters per bucket: 128 KiB, a part of a second-level cache

template <class Item>
void counting(const Block<Item>& block) {
  if (block.n < 2) return;
  Stages<Item>::enter("preprocessing");
  const Survey seen = survey(block);
  const auto map = block.map;
  const auto slot = [&](const Item& item) {
    return static_cast<index_t>(map.to_bits(key_of(item)) - seen.min);
  };
  const auto slots = static_cast<index_t>(seen.range()) + 1;
  machine::Buffer<Like<Item, index_t>> place(slots);
  std::fill(place.begin(), place.end(), index_t{0});
  for (index_t i = 0; i < block.n; ++i) ++place[slot(block.data[i])];
  index_t sum = 0;
  for (auto& p : place) sum += std::exchange(p, sum);
  Stages<Item>::enter("sorting");
  for (index_t i = 0; i < block.n; ++i) block.scratch[place[slot(block.data[i])]++] = block.data[i];
  copy_items(block.scratch, block.data, block.n);
}
}  // namespace tessera::inline v1::sort
