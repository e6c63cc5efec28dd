#pragma once
// Sorted runs: ranks of splitters, exact multiway selection, k-way merging. Building blocks of the
// distributed and the external sort; for u32, u64 (keys as bits) and Pair.

#include <span>

#include "kernels/sort/key.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

/// A sorted sequence data[0:n].
template <class Item>
struct Run {
  const Item* data = nullptr;
  index_t n = 0;
};

/// The number of items of a sorted block below a splitter, and of those equal to it.
struct Rank {
  index_t below = 0;
  index_t equal = 0;
  friend bool operator==(const Rank&, const Rank&) = default;
};

/// Computes the ranks of sorted splitters in a sorted run; ranks[i] belongs to splitters[i].
template <class Item>
void ranks_of(Run<Item> run, std::span<const Item> splitters, std::span<Rank> ranks);

/// Returns cuts that sum to `rank`, 0 <= rank <= total: the items before the cuts are the `rank`
/// smallest of all runs together, equal items taken from earlier runs first.
template <class Item>
[[nodiscard]] machine::List<index_t> select_cuts(std::span<const Run<Item>> runs, index_t rank);

/// Merges all runs into to[0:total]; equal items in the order of their runs. `to` overlaps no run.
/// Runs on the threads of the enclosing parallel region.
template <class Item>
void merge_runs(std::span<const Run<Item>> runs, Item* to);

}  // namespace tessera::inline v1::sort
