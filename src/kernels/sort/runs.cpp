#include "kernels/sort/runs.hpp"

#include "kernels/sort/common.hpp"
#include "kernels/sort/leaf.hpp"
#include "kernels/sort/loser_tree.hpp"
#include "kernels/sort/merge.hpp"
#include "kernels/sort/select.hpp"

namespace tessera::sort {
namespace {

template <class Item>
index_t total_of(std::span<const Run<Item>> runs) {
  index_t total = 0;
  for (const auto& run : runs) total += run.n;
  return total;
}

/// So many runs, or more, are sorted in a cache as if they were none: vectors do that in less time than a
/// tree merges.
template <class Item>
bool sorts_together(std::size_t runs) {
  if constexpr (std::is_same_v<Item, Pair>)
    return false;
  else
    return leaf_kernels<Item>().quicksort != nullptr && runs >= (sizeof(Item) == 4 ? 2 : 3);
}

template <class Item>
bool sort_together(std::span<const Run<Item>> runs, Item* to) {
  constexpr index_t least = 1 << 10;  // of a leaf's quicksort
  const index_t total = total_of(runs);
  if (total < least || !sorts_together<Item>(runs.size())) return false;
  if constexpr (!std::is_same_v<Item, Pair>) {
    Item* end = to;
    for (const auto& run : runs) end = std::copy(run.data, run.data + run.n, end);
    leaf_kernels<Item>().quicksort(to, total, {});
  }
  return true;
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
  } else if (sort_together<Item>(filled, to)) {
    return;
  } else if (filled.size() == 2) {
    merge_sequential(filled[0].data, filled[0].n, filled[1].data, filled[1].n, to);
  } else {
    LoserTree<Item>(filled).pop(to, total_of<Item>(filled));
  }
}

/// Into how many parts a merge is cut: such as a cache holds where they are sorted, unless cutting many runs
/// took longer; else enough for the team.
template <class Item>
index_t parts_of(std::size_t runs, index_t total) {
  constexpr index_t in_cache = (index_t{256} << 10) / index_t{sizeof(Item)};
  if (sorts_together<Item>(runs))
    return ceil_div(total, std::clamp(static_cast<index_t>(runs) << 12, in_cache, 8 * in_cache));
  return team() == 1 ? 1 : std::min<index_t>(4 * team(), ceil_div(total, task_grain));
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
void merge_runs(std::span<const Run<Item>> runs, Item* to) {
  const index_t total = total_of(runs), parts = parts_of<Item>(runs.size(), total);
  if (parts <= 1) {
    merge_some(runs, to);
    return;
  }
  const auto first = [=](index_t part) {  // parts * total may be more than an index holds
    return total / parts * part + total % parts * part / parts;
  };
  machine::parallel_for(0, parts, ceil_div(parts, 8 * team()), [&](index_t begin, index_t end) {
    std::vector<index_t> from = select_cuts(runs, first(begin));
    for (index_t part = begin; part < end; ++part) {
      std::vector<index_t> until = select_cuts(runs, first(part + 1));
      std::vector<Run<Item>> slice;
      for (std::size_t r = 0; r < runs.size(); ++r)
        slice.push_back({runs[r].data + from[r], until[r] - from[r]});
      merge_some<Item>(slice, to + first(part));
      from = std::move(until);
    }
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
