#pragma once
// Lazy funnelsort (Brodal and Fagerberg 2002): splits into n^(1/3) parts, sorts each recursively
// and merges them by a lazy funnel. Optimal cache complexity at every level, O((n/L) log_Z n)
// misses, without cache parameters. On a team, parts are tasks and the merge is cut exactly. A
// template for plain and traced items.

#include <cmath>

#include "base/instrument.hpp"
#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/funnel.hpp"
#include "kernels/sort/select.hpp"

namespace tessera::inline v1::sort {

inline constexpr index_t funnel_leaf = 512;  // items; smaller funnels have too few inputs to gain

template <class Item>
void merge_cut(std::span<const Run<Item>> runs, Item* to, index_t n) {
  const index_t parts =
      team() == 1 ? 1 : std::min<index_t>(4 * team(), ceil_div(n, 8 * task_grain));
  machine::parallel_for(0, parts, 1, [&](index_t part, index_t) {
    const index_t first = part * n / parts, last = (part + 1) * n / parts;
    const auto begin = select_cuts(runs, first);
    const auto end = select_cuts(runs, last);
    std::vector<Run<Item>> slice;
    for (std::size_t r = 0; r < runs.size(); ++r)
      slice.push_back({runs[r].data + begin[r], end[r] - begin[r]});
    Funnel<Item>(std::span<const Run<Item>>(slice)).merge_to(to + first, last - first);
  });
}

/// Sorts data[0:n], using scratch[0:n].
template <class Item>
void sort_funnel(Item* data, Item* scratch, index_t n) {
  [[maybe_unused]] const Subproblem<Item> here;
  if (n <= funnel_leaf) {
    std::sort(data, data + n);
    return;
  }
  const auto parts = std::max<index_t>(2, static_cast<index_t>(std::cbrt(static_cast<double>(n))));
  std::vector<Run<Item>> runs;
  for (index_t p = 0; p < parts; ++p) {
    runs.push_back({data + p * n / parts, (p + 1) * n / parts - p * n / parts});
  }
  const index_t grain = n > 4 * task_grain && team() > 1 ? 1 : parts;
  machine::fork_for(0, parts, grain, [&](index_t first, index_t last) {
    for (index_t p = first; p < last; ++p) {
      const index_t begin = p * n / parts;
      const index_t size = (p + 1) * n / parts - begin;
      sort_funnel(data + begin, scratch + begin, size);
      count_sorted_part(n, size);
    }
  });
  merge_cut<Item>(runs, scratch, n);
  copy_items(scratch, data, n);
  count_level(n, parts);
}

template <class Item>
void cache_oblivious(const Block<Item>& block) {
  on_bits(block, [](Item* data, Item* scratch, index_t n) { sort_funnel(data, scratch, n); });
}

}  // namespace tessera::inline v1::sort
