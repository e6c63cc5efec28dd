#include "kernels/sort/runs.hpp"

#include "kernels/sort/common.hpp"
#include "kernels/sort/loser_tree.hpp"
#include "kernels/sort/merge.hpp"

namespace tessera::sort {
namespace {

/// The position in the order of items as one number, to bisect on.
__extension__ using Wide = unsigned __int128;

template <class Item>
Wide position(const Item& item) {
  if constexpr (std::is_same_v<Item, Pair>)
    return (Wide{item.key} << 64) | item.index;
  else
    return item;
}
template <class Item>
Item item_at(Wide position) {
  if constexpr (std::is_same_v<Item, Pair>)
    return {static_cast<std::uint64_t>(position >> 64), static_cast<std::uint64_t>(position)};
  else
    return static_cast<Item>(position);
}

template <class Item>
index_t total_of(std::span<const Run<Item>> runs) {
  index_t total = 0;
  for (const auto& run : runs) total += run.n;
  return total;
}

/// The least item x of the order such that at least `rank` items of the runs are <= x; rank >= 1.
template <class Item>
Item select_item(std::span<const Run<Item>> runs, index_t rank) {
  Wide low = ~Wide{0}, high = 0;
  for (const auto& run : runs) {
    if (run.n == 0) continue;
    low = std::min(low, position(run.data[0]));
    high = std::max(high, position(run.data[run.n - 1]));
  }
  while (low < high) {
    const Wide middle = low + (high - low) / 2;
    index_t not_above = 0;
    for (const auto& run : runs) not_above += upper_bound(run.data, run.n, item_at<Item>(middle));
    if (not_above >= rank)
      high = middle;
    else
      low = middle + 1;
  }
  return item_at<Item>(low);
}

template <class Item>
void merge_some(std::span<const Run<Item>> runs, Item* to) {
  std::vector<Run<Item>> filled;
  for (const auto& run : runs) {
    if (run.n > 0) filled.push_back(run);
  }
  if (filled.empty()) return;
  if (filled.size() == 1) {
    std::copy(filled[0].data, filled[0].data + filled[0].n, to);
  } else if (filled.size() == 2) {
    merge_sequential(filled[0].data, filled[0].n, filled[1].data, filled[1].n, to);
  } else {
    LoserTree<Item>(filled).pop(to, total_of<Item>(filled));
  }
}

}  // namespace

template <class Item>
void ranks_of(Run<Item> run, std::span<const Item> splitters, std::span<Rank> ranks) {
  index_t begin = 0;  // splitters ascend, so each search starts where the last one ended
  for (std::size_t i = 0; i < splitters.size(); ++i) {
    begin += lower_bound(run.data + begin, run.n - begin, splitters[i]);
    ranks[i] = {begin, upper_bound(run.data + begin, run.n - begin, splitters[i])};
  }
}

template <class Item>
std::vector<index_t> select_cuts(std::span<const Run<Item>> runs, index_t rank) {
  std::vector<index_t> cuts(runs.size(), 0);
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

template <class Item>
void merge_runs(std::span<const Run<Item>> runs, Item* to) {
  const index_t total = total_of(runs);
  const index_t parts = team() == 1 ? 1 : std::min<index_t>(4 * team(), ceil_div(total, task_grain));
  if (parts <= 1) {
    merge_some(runs, to);
    return;
  }
  machine::parallel_for(0, parts, 1, [&](index_t part, index_t) {
    const index_t first = part * total / parts;
    const auto begin = select_cuts(runs, first);
    const auto end = select_cuts(runs, (part + 1) * total / parts);
    std::vector<Run<Item>> slice;
    for (std::size_t r = 0; r < runs.size(); ++r)
      slice.push_back({runs[r].data + begin[r], end[r] - begin[r]});
    merge_some<Item>(slice, to + first);
  });
}

#define TESSERA_SORT_INSTANTIATE_RUNS(Item)                                       \
  template void ranks_of(Run<Item>, std::span<const Item>, std::span<Rank>);      \
  template std::vector<index_t> select_cuts(std::span<const Run<Item>>, index_t); \
  template void merge_runs(std::span<const Run<Item>>, Item*)
TESSERA_SORT_INSTANTIATE_RUNS(std::uint32_t);
TESSERA_SORT_INSTANTIATE_RUNS(std::uint64_t);
TESSERA_SORT_INSTANTIATE_RUNS(Pair);

}  // namespace tessera::sort
