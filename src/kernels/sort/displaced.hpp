#pragma once
// Sorted but for a few items: they alone are sorted and put where they belong.

#include "kernels/sort/key.hpp"

namespace tessera::sort {

/// Fewer than one item in so many may be out of place.
inline constexpr index_t displaced_share = 64;

/// Whether data[0:n] is sorted; ends at the first block that is not. In parallel on the threads of
/// the region it is called in.
template <class Item>
[[nodiscard]] bool in_order(const Block<Item>& block, Order order = Order::ascending);

/// Sorts data[0:n], for u32, u64 (raw keys) and Pair, if fewer than n / displaced_share items out
/// of their places hinder it; else returns false and data is as before. What hinders is found run
/// by run: where a run begins below the end of what is kept, the fewer of the two sides' items give
/// way (after the drop-merge sort of Ernerfeldt 2017, which decides item by item). n + O(d log n)
/// steps for d displaced items, and a move of what lies between an item's place and the place it
/// goes to; memory for O(d).
template <class Item>
[[nodiscard]] bool put_back_displaced(const Block<Item>& block);

}  // namespace tessera::sort
