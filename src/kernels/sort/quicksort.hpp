#pragma once
// Fork-join quicksort. Large parts are partitioned in parallel through scratch, chunk by chunk; small ones in
// place without branches on keys (after Edelkamp and Weiss 2016). Keys equal to the pivot leave the
// recursion. A template, so that it runs on plain and on traced items.

#include <array>

#include "base/instrument.hpp"
#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/common.hpp"
#include "machine/buffer.hpp"

namespace tessera::sort {

inline constexpr index_t quicksort_leaf = 24;  // items

template <class Item>
Item median(const Item& a, const Item& b, const Item& c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

/// The median of three medians of three; of medians of more for long parts.
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

/// data[0:result] satisfy `before`, the others do not; every item moves whatever the outcome, so nothing is
/// guessed.
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

template <class Item>
void sort_small(Item* data, index_t n, int depth) {
  [[maybe_unused]] const Subproblem<Item> here;
  while (n > quicksort_leaf) {
    if (depth-- == 0) {  // quadratic otherwise; happens on adversarial inputs only
      std::make_heap(data, data + n);
      std::sort_heap(data, data + n);
      return;
    }
    const Item pivot = choose_pivot(data, n);
    const index_t below = partition(data, n, [&](const Item& x) { return x < pivot; });
    // Many equal keys show as a small lower part: then those equal to the pivot are set apart, in their
    // place.
    const index_t equal =
        below < n / 8 ? partition(data + below, n - below, [&](const Item& x) { return !(pivot < x); }) : 0;
    const index_t above = below + equal;
    sort_small(data, below, depth);
    data += above;
    n -= above;
  }
  insertion_sort(data, n);
}

/// Parallel partition of from[0:n] into to[0:n]: chunks count, then write their parts at the places the
/// counts give.
template <class Item>
std::array<index_t, 2> partition_to(const Item* from, Item* to, index_t n, const Item& pivot) {
  const index_t chunks = std::min<index_t>(4 * team(), ceil_div(n, task_grain));
  const index_t chunk = ceil_div(n, chunks);
  machine::Buffer<index_t> counts(2 * chunks + 2);  // below, equal
  machine::parallel_for(0, chunks, 1, [&](index_t c, index_t) {
    index_t below = 0, above = 0;
    for (index_t i = c * chunk; i < std::min(n, (c + 1) * chunk); ++i) {
      below += from[i] < pivot ? 1 : 0;
      above += pivot < from[i] ? 1 : 0;
    }
    counts[2 * c] = below;
    counts[2 * c + 1] = std::max<index_t>(0, std::min(n, (c + 1) * chunk) - c * chunk) - below - above;
  });
  std::array<index_t, 2> total{};
  for (index_t c = 0; c < chunks; ++c) {
    total[0] += std::exchange(counts[2 * c], total[0]);
    total[1] += std::exchange(counts[2 * c + 1], total[1]);
  }
  counts[2 * chunks] = total[0];
  counts[2 * chunks + 1] = total[1];
  machine::parallel_for(0, chunks, 1, [&](index_t c, index_t) {
    const index_t begin = std::min(n, c * chunk);
    const std::array<index_t, 3> end_at{counts[2 * c], total[0] + counts[2 * c + 1],
                                        total[0] + total[1] + begin - counts[2 * c] - counts[2 * c + 1]};
    std::array<Item*, 3> place{to + end_at[0], to + end_at[1], to + end_at[2]};
    for (index_t i = begin; i < std::min(n, begin + chunk); ++i) {
      const Item item = from[i];
      const std::size_t part = (item < pivot ? 0u : 1u) + (pivot < item ? 1u : 0u);
      *place[part]++ = item;
    }
  });
  return {total[0], total[0] + total[1]};
}

/// Sorts from[0:n]; the result lies in home[0:n], which is `from` or `other`.
template <class Item>
void sort_large(Item* from, Item* other, Item* home, index_t n, int depth) {
  if (n <= 4 * task_grain || team() == 1 || depth == 0) {
    if (from != home) std::copy(from, from + n, home);
    sort_small(home, n, depth);
    return;
  }
  const Item pivot = choose_pivot(from, n);
  const auto [below, above] = partition_to(from, other, n, pivot);
  machine::fork_join([=, low = below] { sort_large(other, from, home, low, depth - 1); },
                     [=, low = below, high = above] {
                       if (other != home) std::copy(other + low, other + high, home + low);
                       sort_large(other + high, from + high, home + high, n - high, depth - 1);
                     });
}

template <class Item>
void quicksort(const Block<Item>& block) {
  on_bits(block, [](Item* data, Item* scratch, index_t n) {
    const int depth = 2 * bit_length(static_cast<std::uint64_t>(n)) + 4;
    if (team() == 1) {
      sort_small(data, n, depth);
    } else {
      sort_large(data, scratch, data, n, depth);
    }
  });
}

}  // namespace tessera::sort
