#pragma once
// Functions shared by the sort algorithms: team size, parallel copies, conversion to bits and back,
// the base case.

#include <algorithm>
#include <bit>
#include <functional>

#include "base/work_done.hpp"
#include "kernels/sort/key.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::sort {

using machine::team;

/// A type for products and positions of two words.
__extension__ using Wide = unsigned __int128;

/// Minimum items for which a task pays off.
inline constexpr index_t task_grain = 1 << 15;

template <class Item>
void copy_items(const Item* from, Item* to, index_t n) {
  machine::parallel_for(0, n, 8 * task_grain, [=](index_t begin, index_t end) {
    std::copy(from + begin, from + end, to + begin);
  });
}

/// Applies data[0:n] = one(data[0:n]) if the map changes keys.
template <class Item, class F>
void map_items(const Block<Item>& block, const F& one) {
  if (block.map.identity()) return;
  machine::parallel_for(0, block.n, 8 * task_grain, [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) block.data[i] = one(block.data[i]);
  });
}

/// Calls f(data, scratch, n) on data mapped to bits in place, then maps it back.
template <class Item, class F>
void on_bits(const Block<Item>& block, const F& f) {
  if constexpr (std::is_same_v<Plain<Item>, Pair>) {
    f(block.data, block.scratch, block.n);
  } else {
    const auto map = block.map;
    map_items(block, [map](Item raw) { return map.to_bits(raw); });
    f(block.data, block.scratch, block.n);
    map_items(block, [map](Item bits) { return map.to_raw(bits); });
  }
}

/// Sorts a few items stably.
template <class Item>
void insertion_sort(Item* data, index_t n) {
  for (index_t i = 1; i < n; ++i) {
    const Item item = data[i];
    index_t hole = i;
    for (; hole > 0 && item < data[hole - 1]; --hole) data[hole] = data[hole - 1];
    data[hole] = item;
  }
}

/// Returns the first position in sorted data[0:n] whose item is not less than x (not_above: greater
/// than x); branch-free.
template <class Item, class Less = std::less<>>
[[nodiscard]] index_t lower_bound(const Item* data, index_t n, const Item& x,
                                  const Less& less = {}) {
  const Item* first = data;
  while (n > 1) {
    const index_t half = n / 2;
    first += less(first[half - 1], x) ? half : 0;
    n -= half;
  }
  return (first - data) + (n == 1 && less(*first, x) ? 1 : 0);
}
template <class Item, class Less = std::less<>>
[[nodiscard]] index_t upper_bound(const Item* data, index_t n, const Item& x,
                                  const Less& less = {}) {
  const Item* first = data;
  while (n > 1) {
    const index_t half = n / 2;
    first += less(x, first[half - 1]) ? 0 : half;
    n -= half;
  }
  return (first - data) + (n == 1 && !less(x, *first) ? 1 : 0);
}

}  // namespace tessera::inline v1::sort
