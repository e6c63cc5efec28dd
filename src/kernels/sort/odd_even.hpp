#pragma once
// Odd-even transposition sort (Habermann 1972), of parts instead of items: neighbours with even
// and odd numbers in turn merge their sorted parts and split them again (Baudet and Stevenson
// 1978). As many rounds as parts; with up to 32 items a part is an item, and a round compares and
// exchanges. A template for plain and traced items.

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/common.hpp"

namespace tessera::inline v1::sort {

inline constexpr index_t odd_even_parts = 32;

/// Merges the sorted data[0:half] and data[half:n], if they are not in order.
template <class Item>
void merge_neighbours(Item* data, Item* scratch, index_t half, index_t n) {
  if (!(data[half] < data[half - 1])) return;
  std::merge(data, data + half, data + half, data + n, scratch);
  std::copy(scratch, scratch + n, data);
}

template <class Item>
void odd_even(const Block<Item>& block) {
  on_bits(block, [](Item* data, Item* scratch, index_t n) {
    // Of one size: with others that many rounds are too few. A shorter last part is like one that
    // is filled up with greater items, which stay where they are.
    const index_t size = std::max<index_t>(1, ceil_div(n, odd_even_parts)),
                  parts = ceil_div(n, size);
    const auto begin = [=](index_t part) { return std::min(n, part * size); };
    machine::parallel_for(0, parts, 1, [=](index_t first, index_t last) {
      for (index_t part = first; part < last; ++part)
        std::sort(data + begin(part), data + begin(part + 1));
    });
    for (index_t round = 0; round < parts; ++round) {
      const index_t odd = round % 2;
      machine::parallel_for(0, (parts - odd) / 2, 1, [=](index_t first, index_t last) {
        for (index_t pair = first; pair < last; ++pair) {
          const index_t part = 2 * pair + odd, low = begin(part);
          merge_neighbours(data + low, scratch + low, begin(part + 1) - low, begin(part + 2) - low);
        }
      });
    }
  });
}

}  // namespace tessera::inline v1::sort
