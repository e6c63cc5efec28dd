#pragma once
// Fork-join merge sort with parallel merges (Cormen et al. 2009, 27.3): stable, work O(n log n),
// span O(log^3 n). A template for plain and traced items.

#include "base/instrument.hpp"
#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/merge.hpp"

namespace tessera::inline v1::sort {

inline constexpr index_t mergesort_leaf = 24;  // items; insertion sort is faster up to about here

enum class Result { in_data, in_scratch };

/// Sorts data[0:n] into data or scratch, as `result` requests.
template <class Item>
void sort_to(Item* data, Item* scratch, index_t n, Result result) {
  [[maybe_unused]] const Subproblem<Item> here;
  if (n <= mergesort_leaf) {
    insertion_sort(data, n);
    if (result == Result::in_scratch) std::copy(data, data + n, scratch);
    return;
  }
  const index_t half = n / 2;
  const Result parts = result == Result::in_data ? Result::in_scratch : Result::in_data;
  const auto left = [=] {
    sort_to(data, scratch, half, parts);
    count_sorted_part(n, half);
  };
  const auto right = [=] {
    sort_to(data + half, scratch + half, n - half, parts);
    count_sorted_part(n, n - half);
  };
  Item* const from = result == Result::in_data ? scratch : data;
  Item* const to = result == Result::in_data ? data : scratch;
  if (n > task_grain && team() > 1) {
    machine::fork_join(left, right);
    merge_parallel(from, half, from + half, n - half, to);
  } else {
    left();
    right();
    merge_sequential(from, half, from + half, n - half, to);
  }
  count_level(n, 2);
}

template <class Item>
void mergesort(const Block<Item>& block) {
  on_bits(block,
          [](Item* data, Item* scratch, index_t n) { sort_to(data, scratch, n, Result::in_data); });
}

}  // namespace tessera::inline v1::sort
