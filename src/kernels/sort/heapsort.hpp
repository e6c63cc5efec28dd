#pragma once
// Heap sort (Williams 1964; Floyd 1964): in place, O(n log n) for any input, sequential. A removal
// walks from the root to a leaf, so that every level beyond the cache misses. A template for plain
// and traced items.

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/common.hpp"

namespace tessera::inline v1::sort {

/// Moves the item at `at` down heap[0:n] until no child is greater.
template <class Item>
void sift_down(Item* heap, index_t n, index_t at) {
  const Item item = heap[at];
  for (index_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
    if (child + 1 < n && heap[child] < heap[child + 1]) ++child;
    if (!(item < heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = item;
}

template <class Item>
void heapsort(const Block<Item>& block) {
  on_bits(block, [](Item* data, Item*, index_t n) {
    for (index_t at = n / 2; at-- > 0;) sift_down(data, n, at);
    for (index_t end = n - 1; end > 0; --end) {
      std::swap(data[0], data[end]);
      sift_down(data, end, 0);
    }
  });
}

}  // namespace tessera::inline v1::sort
