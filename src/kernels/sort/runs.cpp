// Ranks of splitters by binary search, and k-way merging of sorted runs, cut into parts by exact
// selection.

#include "kernels/sort/runs.hpp"

#include "kernels/sort/common.hpp"
#include "kernels/sort/leaf.hpp"
#include "kernels/sort/loser_tree.hpp"
#include "kernels/sort/merge.hpp"
#include "kernels/sort/select.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {
namespace {

template <class Item>
index_t total_of(std::span<const Run<Item>> runs) {
  index_t total = 0;
  for (const auto& run : runs) total += run.n;
  return total;
}

/// Returns the leaf kernels of keys if they merge; nullptr for pairs.
template <class Item>
const LeafKernels<Item>* vectors() {
  if constexpr (std::is_same_v<Item, Pair>)
    return nullptr;
  else
    return leaf_kernels<Item>().merge != nullptr ? &leaf_kernels<Item>() : nullptr;
}

/// Returns whether to merge in cache-sized parts: three or more runs.
template <class Item>
bool in_cached_parts(std::size_t runs) {
  return vectors<Item>() != nullptr && runs > 2;
}

/// Merges the runs pairwise; the result is in `to` unless there is a single run. Both buffers hold
/// all items; spare is overwritten.
template <class B>
Run<B> merge_by_halves(const LeafKernels<B>& leaf, std::span<const Run<B>> runs, B* to, B* spare) {
  if (runs.size() == 1) return runs[0];
  const std::size_t half = runs.size() / 2;
  const Run<B> left = merge_by_halves(leaf, runs.first(half), spare, to);
  const Run<B> right = merge_by_halves(leaf, runs.subspan(half), spare + left.n, to + left.n);
  leaf.merge(left.data, left.n, right.data, right.n, to);
  return {to, left.n + right.n};
}

/// Merges runs; `spare` holds as many items as `to` for vectorised merges of more than two runs.
template <class Item>
void merge_some(std::span<const Run<Item>> runs, Item* to, Item* spare) {
  machine::List<Run<Item>> filled;
  for (const auto& run : runs) {
    if (run.n > 0) filled.push_back(run);
  }
  const std::span<const Run<Item>> those(filled);
  if (filled.empty()) return;
  if (filled.size() == 1) {
    std::copy(filled[0].data, filled[0].data + filled[0].n, to);
  } else if (const auto* leaf = vectors<Item>()) {
    if constexpr (!std::is_same_v<Item, Pair>) merge_by_halves(*leaf, those, to, spare);
  } else if (filled.size() == 2) {
    merge_sequential(filled[0].data, filled[0].n, filled[1].data, filled[1].n, to);
  } else {
    LoserTree<Item>(filled).pop(to, total_of(those));
  }
}

/// Returns the number of parts of a merge: cache-sized, unless cutting many runs took longer;
/// otherwise enough for the team.
template <class Item>
index_t parts_of(std::size_t runs, index_t total) {
  constexpr index_t in_cache = (index_t{512} << 10) / index_t{sizeof(Item)};
  if (in_cached_parts<Item>(runs))
    return ceil_div(total, std::clamp(static_cast<index_t>(runs) << 12, in_cache, 8 * in_cache));
  return team() == 1 ? 1 : std::min<index_t>(4 * team(), ceil_div(total, task_grain));
}

}  // namespace

template <class Item>
void ranks_of(Run<Item> run, std::span<const Item> splitters, std::span<Rank> ranks) {
  index_t begin = 0;  // splitters ascend, so each search starts at the end of the previous one
  for (std::size_t i = 0; i < splitters.size(); ++i) {
    begin += lower_bound(run.data + begin, run.n - begin, splitters[i]);
    ranks[i] = {begin, upper_bound(run.data + begin, run.n - begin, splitters[i])};
  }
}

template <class Item>
void merge_runs(std::span<const Run<Item>> runs, Item* to) {
  const index_t total = total_of(runs), parts = parts_of<Item>(runs.size(), total);
  const auto first = [=](index_t part) {  // parts * total may overflow an index
    return total / parts * part + total % parts * part / parts;
  };
  const auto spare_items = static_cast<std::size_t>(
      parts > 0 && in_cached_parts<Item>(runs.size()) ? ceil_div(total, parts) : 0);
  if (parts <= 1) {
    machine::List<Item> spare(spare_items);
    merge_some(runs, to, spare.data());
    return;
  }
  machine::parallel_for(0, parts, ceil_div(parts, 8 * team()), [&](index_t begin, index_t end) {
    machine::List<Item> spare(spare_items);
    machine::List<Run<Item>> left(runs.begin(), runs.end());
    const auto drop = [&](const machine::List<index_t>& taken) {
      for (std::size_t r = 0; r < left.size(); ++r)
        left[r] = {left[r].data + taken[r], left[r].n - taken[r]};
    };
    drop(select_cuts(runs, first(begin)));
    for (index_t part = begin; part < end; ++part) {
      const index_t count = first(part + 1) - first(part);
      machine::List<Run<Item>> slices;  // no run contributes more than the whole part
      for (const auto& run : left) slices.push_back({run.data, std::min(run.n, count)});
      const machine::List<index_t> cuts = select_cuts<Item>(slices, count);
      for (std::size_t r = 0; r < slices.size(); ++r) slices[r].n = cuts[r];
      merge_some<Item>(slices, to + first(part), spare.data());
      drop(cuts);
      count_placed(count, std::log2(static_cast<double>(runs.size())));
    }
  });
}

#define TESSERA_SORT_INSTANTIATE_RUNS(Item)                                         \
  template void ranks_of(Run<Item>, std::span<const Item>, std::span<Rank>);        \
  template machine::List<index_t> select_cuts(std::span<const Run<Item>>, index_t); \
  template void merge_runs(std::span<const Run<Item>>, Item*)
TESSERA_SORT_INSTANTIATE_RUNS(std::uint32_t);
TESSERA_SORT_INSTANTIATE_RUNS(std::uint64_t);
TESSERA_SORT_INSTANTIATE_RUNS(Pair);

}  // namespace tessera::inline v1::sort
