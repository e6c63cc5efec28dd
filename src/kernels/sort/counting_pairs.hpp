#pragma once
// Bucketed counting sort of pairs. A template for plain and traced pairs.

#include "base/stages.hpp"
#include "kernels/sort/distribute.hpp"

namespace tessera::inline v1::sort {

/// Sorts by counting; pairs are placed, not filled, and keep their order among equal keys.
template <class Item>
void count_pairs(const Block<Item>& block, std::uint64_t low, std::uint64_t range) {
  const int shift = std::max(bit_length(range) - 12, std::min(bit_length(range), 13));
  const index_t buckets = static_cast<index_t>(range >> shift) + 1;
  machine::Buffer<Like<Item, index_t>> begin(buckets + 1);
  Stages<Item>::enter("preprocessing");
  distribute(
      block.data, block.scratch, block.n, buckets, begin.data(),
      [=](const Item& pair) { return static_cast<index_t>((key_of(pair) - low) >> shift); },
      [](const Item& pair) -> const Item& { return pair; });
  Stages<Item>::enter("sorting");
  const index_t slots = index_t{1} << shift;
  machine::parallel_for(
      0, buckets, std::max<index_t>(1, buckets / (16 * team())), [&](index_t first, index_t last) {
        machine::Buffer<Like<Item, std::uint32_t>> place(slots);
        for (index_t b = first; b < last; ++b) {
          const Item* const from = block.scratch + begin[b];
          Item* const to = block.data + begin[b];
          const index_t n = begin[b + 1] - begin[b];
          const std::uint64_t least = low + (static_cast<std::uint64_t>(b) << shift);
          std::fill(place.begin(), place.end(), 0u);
          for (index_t i = 0; i < n; ++i) ++place[static_cast<index_t>(key_of(from[i]) - least)];
          std::uint32_t sum = 0;
          for (auto& p : place) sum += std::exchange(p, sum);
          for (index_t i = 0; i < n; ++i)
            to[place[static_cast<index_t>(key_of(from[i]) - least)]++] = from[i];
        }
      });
}

}  // namespace tessera::inline v1::sort
