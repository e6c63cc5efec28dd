// Fork-join merge sort with parallel merges (Cormen et al. 2009, 27.3): stable, span O(log^3 n).

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/merge.hpp"

namespace tessera::sort {
namespace {

constexpr index_t leaf = 24;  // items; insertion sort is faster up to about here

enum class Result { in_data, in_scratch };

/// Sorts data[0:n]; the result lies where asked for.
template <class Item>
void sort_to(Item* data, Item* scratch, index_t n, Result result) {
  if (n <= leaf) {
    insertion_sort(data, n);
    if (result == Result::in_scratch) std::copy(data, data + n, scratch);
    return;
  }
  const index_t half = n / 2;
  const Result parts = result == Result::in_data ? Result::in_scratch : Result::in_data;
  const auto left = [=] { sort_to(data, scratch, half, parts); };
  const auto right = [=] { sort_to(data + half, scratch + half, n - half, parts); };
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
}

}  // namespace

template <class Item>
void mergesort(const Block<Item>& block) {
  on_bits(block, [](Item* data, Item* scratch, index_t n) { sort_to(data, scratch, n, Result::in_data); });
}
TESSERA_SORT_INSTANTIATE(mergesort);

}  // namespace tessera::sort
