#include "kernels/sort/runs.hpp"

#include "kernels/sort/common.hpp"
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
