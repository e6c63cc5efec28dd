#pragma once
// Fork-join quicksort, in place, without branches on keys (after Edelkamp and Weiss 2016). The team
// partitions large parts chunk by chunk. Keys equal to the pivot leave the recursion. Expected O(n
// log n); heapsort bounds the worst case. A template for plain and traced items.

#include <array>

#include "base/instrument.hpp"
#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/common.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

inline constexpr index_t quicksort_leaf = 24;  // items

template <class Item>
Item median(const Item& a, const Item& b, const Item& c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

/// Returns the median of three medians of three; of medians of more for long parts.
template <class Item>
Item choose_pivot(const Item* data, index_t n) {
  if (n < 128) return median(data[0], data[n / 2], data[n - 1]);
  const index_t samples = n < 8192 ? 9 : 81;
  std::array<Item, 81> sample;
  for (index_t i = 0; i < samples; ++i)
    sample[static_cast<std::size_t>(i)] = data[(2 * i + 1) * n / (2 * samples)];
  std::nth_element(sample.begin(), sample.begin() + samples / 2, sample.begin() + samples);
  return sample[static_cast<std::size_t>(samples / 2)];
}

/// Partitions such that data[0:result] satisfy `before` and the others do not; every item moves
/// regardless of the outcome, so there are no branches to mispredict.
template <class Item, class Before>
index_t partition(Item* data, index_t n, const Before& before) {
  index_t first = 0;
  for (index_t i = 0; i < n; ++i) {
    const Item item = data[i];
    data[i] = data[first];
    data[first] = item;
    first += before(item) ? 1 : 0;
  }
  return first;
}

/// Sorts in place with forks for large parts; one thread partitions.
template <class Item>
void sort_in_place(Item* data, index_t n, int depth) {
  [[maybe_unused]] const Subproblem<Item> here;
  while (n > quicksort_leaf) {
    if (depth-- == 0) {  // quadratic otherwise; only for adversarial inputs
      std::make_heap(data, data + n);
      std::sort_heap(data, data + n);
      return;
    }
    const Item pivot = choose_pivot(data, n);
    const index_t below = partition(data, n, [&](const Item& x) { return x < pivot; });
    // A small lower part indicates many equal keys: those equal to the pivot are then separated, in
    // place.
    const index_t equal = below < n / 8 ? partition(data + below, n - below,
                                                    [&](const Item& x) { return !(pivot < x); })
                                        : 0;
    const index_t above = below + equal;
    if (n > counted_keys) {
      count_level(n, 2);
      const auto left = [=] {
        sort_in_place(data, below, depth);
        count_sorted_part(n, below);
      };
      const auto right = [=] {
        sort_in_place(data + above, n - above, depth);
        count_sorted_part(n, n - above);
      };
      if (team() > 1) return machine::fork_join(left, right);
      left();
      return right();
    }
    sort_in_place(data, below, depth);
    data += above;
    n -= above;
  }
  insertion_sort(data, n);
}

/// Partitions as partition(), on the team: each chunk separately, then swaps the items on the wrong
/// side of the border, about a quarter of random items.
template <class Item, class Before>
index_t partition_shared(Item* data, index_t n, const Before& before) {
  const index_t chunks = std::min<index_t>(4 * team(), ceil_div(n, task_grain));
  const index_t chunk = ceil_div(n, chunks);
  machine::Buffer<index_t> firsts(chunks);
  machine::parallel_for(0, chunks, 1, [&](index_t c, index_t) {
    const index_t begin = std::min(n, c * chunk);
    firsts[c] = partition(data + begin, std::min(n, begin + chunk) - begin, before);
  });
  index_t border = 0;
  for (index_t c = 0; c < chunks; ++c) border += firsts[c];
  // The misplaced items of either side in order, as stretches; both sides have equally many.
  machine::List<std::array<index_t, 2>> low, high;
  const auto add = [](auto& stretches, index_t begin, index_t end) {
    if (begin < end) stretches.push_back({begin, end});
  };
  for (index_t c = 0; c < chunks; ++c) {
    const index_t begin = std::min(n, c * chunk), end = std::min(n, begin + chunk);
    add(low, begin + firsts[c], std::min(end, border));
    add(high, std::max(begin, border), begin + firsts[c]);
  }
  machine::List<std::array<index_t, 3>> swaps;
  for (std::size_t l = 0, h = 0; l < low.size();) {
    const index_t count = std::min({low[l][1] - low[l][0], high[h][1] - high[h][0], task_grain});
    swaps.push_back({low[l][0], high[h][0], count});
    if ((low[l][0] += count) == low[l][1]) ++l;
    if ((high[h][0] += count) == high[h][1]) ++h;
  }
  machine::parallel_for(0, static_cast<index_t>(swaps.size()), 1, [&](index_t k, index_t) {
    const auto [a, b, count] = swaps[static_cast<std::size_t>(k)];
    std::swap_ranges(data + a, data + a + count, data + b);
  });
  return border;
}

/// Sorts parts of more than `shared` items with partitions by all threads: the team would otherwise
/// wait for one.
template <class Item>
void sort_shared(Item* data, index_t n, index_t shared, int depth) {
  if (n <= shared || depth == 0) return sort_in_place(data, n, depth);
  const Item pivot = choose_pivot(data, n);
  const index_t below = partition_shared(data, n, [&](const Item& x) { return x < pivot; });
  const index_t equal =
      below < n / 8
          ? partition_shared(data + below, n - below, [&](const Item& x) { return !(pivot < x); })
          : 0;
  const index_t above = below + equal;
  count_level(n, 2);
  machine::fork_join(
      [=] {
        sort_shared(data, below, shared, depth - 1);
        count_sorted_part(n, below);
      },
      [=] {
        sort_shared(data + above, n - above, shared, depth - 1);
        count_sorted_part(n, n - above);
      });
}

template <class Item>
void quicksort(const Block<Item>& block) {
  on_bits(block, [](Item* data, Item*, index_t n) {
    const index_t shared = std::max(4 * task_grain, n / (4 * team()));
    sort_shared(data, n, team() > 1 ? shared : n,
                2 * bit_length(static_cast<std::uint64_t>(n)) + 4);
  });
}

}  // namespace tessera::inline v1::sort
