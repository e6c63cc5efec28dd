#pragma once
// Exact multiway selection across sorted runs. A template for plain and traced items.

#include "base/instrument.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/runs.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

/// Returns the position in the order of items as one number, for bisection.
template <class Item>
Wide position_of(const Item& item) {
  if constexpr (std::is_same_v<Plain<Item>, Pair>) {
    const Pair pair = item;
    return (Wide{pair.key} << 64) | pair.index;
  } else {
    return static_cast<Plain<Item>>(item);
  }
}
template <class Item>
Item item_at(Wide position) {
  if constexpr (std::is_same_v<Plain<Item>, Pair>)
    return Pair{static_cast<std::uint64_t>(position >> 64), static_cast<std::uint64_t>(position)};
  else
    return static_cast<Plain<Item>>(position);
}

/// Returns the least item x such that at least `rank` items of the runs are <= x; rank >= 1.
/// Bisects on positions, in shrinking parts of the runs.
template <class Item>
Item select_item(std::span<const Run<Item>> runs, index_t rank) {
  Wide low = ~Wide{0}, high = 0;
  for (const auto& run : runs) {
    if (run.n == 0) continue;
    low = std::min(low, position_of(run.data[0]));
    high = std::max(high, position_of(run.data[run.n - 1]));
  }
  machine::List<Run<Item>> open(runs.begin(), runs.end());
  machine::List<index_t> not_above(runs.size());
  index_t before = 0;  // items before the open parts: all <= x
  while (low < high) {
    const Wide middle = low + (high - low) / 2;
    index_t all = before;
    for (std::size_t r = 0; r < open.size(); ++r)
      all += not_above[r] = upper_bound(open[r].data, open[r].n, item_at<Item>(middle));
    const bool found = all >= rank;
    for (std::size_t r = 0; r < open.size(); ++r)
      open[r] = found ? Run<Item>{open[r].data, not_above[r]}
                      : Run<Item>{open[r].data + not_above[r], open[r].n - not_above[r]};
    if (found) {
      high = middle;
    } else {
      low = middle + 1;
      before = all;
    }
  }
  return item_at<Item>(low);
}

template <class Item>
machine::List<index_t> select_cuts(std::span<const Run<Item>> runs, index_t rank) {
  machine::List<index_t> cuts(runs.size(), 0);
  if (rank <= 0) return cuts;
  const Item last = select_item(runs, rank);
  index_t missing = rank;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    cuts[r] = lower_bound(runs[r].data, runs[r].n, last);
    missing -= cuts[r];
  }
  for (std::size_t r = 0; r < runs.size() && missing > 0; ++r) {
    const index_t equal = upper_bound(runs[r].data, runs[r].n, last) - cuts[r];
    const index_t taken = std::min(equal, missing);
    cuts[r] += taken;
    missing -= taken;
  }
  return cuts;
}

}  // namespace tessera::inline v1::sort
