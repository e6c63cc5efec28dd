#pragma once
// Sorted runs: ranks of splitters, exact selection across runs, k-way merging. What the distributed
// sort and the external sort are made of; for u32, u64 (keys as bits) and Pair.

#include <span>
#include <vector>

#include "kernels/sort/key.hpp"

namespace tessera::sort {

/// A sorted sequence data[0:n].
template <class Item>
struct Run {
  const Item* data = nullptr;
  index_t n = 0;
};

/// How many items of a sorted block lie below a splitter, and how many equal it.
struct Rank {
  index_t below = 0;
  index_t equal = 0;
  friend bool operator==(const Rank&, const Rank&) = default;
};

/// The ranks of sorted splitters in a sorted run; ranks[i] belongs to splitters[i].
template <class Item>
void ranks_of(Run<Item> run, std::span<const Item> splitters, std::span<Rank> ranks);

/// Cuts sum to `rank`, 0 <= rank <= total: the items before the cuts are the `rank` smallest of all
/// runs together, equal items taken from earlier runs first.
template <class Item>
[[nodiscard]] std::vector<index_t> select_cuts(std::span<const Run<Item>> runs, index_t rank);

/// to[0:total] = the merge of all runs; equal items in the order of their runs. `to` overlaps no
/// run. In parallel on the threads of the region it is called in.
template <class Item>
void merge_runs(std::span<const Run<Item>> runs, Item* to);

}  // namespace tessera::sort
