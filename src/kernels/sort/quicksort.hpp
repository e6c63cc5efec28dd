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

/// Large parts fork; the partition is one thread's.
template <class Item>
void sort_in_place(Item* data, index_t n, int depth) {
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
    if (n > 4 * task_grain && team() > 1) {
      return machine::fork_join([=] { sort_in_place(data, below, depth); },
                                [=] { sort_in_place(data + above, n - above, depth); });
    }
    sort_in_place(data, below, depth);
    data += above;
    n -= above;
  }
  insertion_sort(data, n);
}

/// Parallel partition of from[0:n] into to[0:n], those that satisfy `before` first: chunks count, then write
/// their two parts at the places that the counts give.
template <class Item, class Before>
index_t partition_to(const Item* from, Item* to, index_t n, const Before& before) {
  const index_t chunks = std::min<index_t>(4 * team(), ceil_div(n, task_grain));
  const index_t chunk = ceil_div(n, chunks);
  machine::Buffer<index_t> places(chunks);
  const auto end = [=](index_t c) { return std::min(n, (c + 1) * chunk); };
  machine::parallel_for(0, chunks, 1, [&](index_t c, index_t) {
    index_t count = 0;
    for (index_t i = c * chunk; i < end(c); ++i) count += before(from[i]) ? 1 : 0;
    places[c] = count;
  });
  index_t total = 0;
  for (index_t c = 0; c < chunks; ++c) total += std::exchange(places[c], total);
  machine::parallel_for(0, chunks, 1, [&](index_t c, index_t) {
    index_t first = places[c], second = total + std::min(n, c * chunk) - places[c];
    for (index_t i = c * chunk; i < end(c); ++i) {
      const Item item = from[i];
      const index_t is_first = -index_t{before(item)};  // all bits: a choice that no compiler makes a branch
      to[(first & is_first) | (second & ~is_first)] = item;
      first -= is_first;
      second += 1 + is_first;
    }
  });
  return total;
}

/// Sorts from[0:n]; the result lies in home[0:n], which is `from` or `other`. Parts of more than `shared`
/// items, which would let the team wait for one thread, are partitioned by all threads, to and fro.
template <class Item>
void sort_shared(Item* from, Item* other, Item* home, index_t n, index_t shared, int depth) {
  if (n <= shared || depth == 0) {
    if (from != home) std::copy(from, from + n, home);
    return sort_in_place(home, n, depth);
  }
  const Item pivot = choose_pivot(from, n);
  const index_t below = partition_to(from, other, n, [&](const Item& x) { return x < pivot; });
  index_t above = below;
  if (below < n / 8) {
    above +=
        partition_to(other + below, from + below, n - below, [&](const Item& x) { return !(pivot < x); });
    if (from != home) std::copy(from + below, from + above, home + below);
  }
  // What is above lies where the last partition wrote it.
  Item* const high = above > below ? from : other;
  Item* const low = high == from ? other : from;
  machine::fork_join(
      [=] { sort_shared(other, from, home, below, shared, depth - 1); },
      [=] { sort_shared(high + above, low + above, home + above, n - above, shared, depth - 1); });
}

template <class Item>
void quicksort(const Block<Item>& block) {
  on_bits(block, [](Item* data, Item* scratch, index_t n) {
    const index_t shared = std::max(4 * task_grain, n / (8 * team()));
    sort_shared(data, scratch, data, n, team() > 1 ? shared : n,
                2 * bit_length(static_cast<std::uint64_t>(n)) + 4);
  });
}

}  // namespace tessera::sort
