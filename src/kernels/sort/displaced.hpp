#pragma once
// Nearly sorted inputs: sorts only the displaced items and merges them in place.

#include "kernels/sort/key.hpp"

namespace tessera::inline v1::sort {

/// Fewer than one in this many items may be displaced.
inline constexpr index_t displaced_share = 64;

/// Returns whether data[0:n] is sorted; stops at the first block that is not. Runs on the threads
/// of the enclosing parallel region.
template <class Item>
[[nodiscard]] bool in_order(const Block<Item>& block, Order order = Order::ascending);

/// Sorts data[0:n], for u32, u64 (raw keys) and Pair, if fewer than n / displaced_share items are
/// displaced; otherwise returns false and leaves data unchanged. Displaced items are found run by
/// run: where a run begins below the end of the kept items, the side with fewer items is displaced
/// (after the drop-merge sort of Ernerfeldt 2017, which decides item by item). n + O(d log n) steps
/// for d displaced items, and a move of the items between an item's position and its destination;
/// O(d) memory.
template <class Item>
[[nodiscard]] bool put_back_displaced(const Block<Item>& block);

}  // namespace tessera::inline v1::sort
