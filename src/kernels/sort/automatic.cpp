// `auto`: samples the input, then selects the best plan for it.

#include <array>

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/displaced.hpp"
#include "kernels/sort/few_values.hpp"
#include "kernels/sort/leaf.hpp"
#include "kernels/sort/radix.hpp"
#include "kernels/sort/runs.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/list.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::sort {
namespace {

constexpr index_t most_runs = 16;          // more runs make merging slower than distributing
constexpr index_t least_uneven = 1 << 16;  // below, radix works entirely in the cache
constexpr index_t few_in_cache = 1 << 21;  // keys; at most what a last-level cache holds
constexpr index_t least_roomy =
    1 << 12;  // keys of 64 bits; 32 bits are as fast by radix up to least_uneven
constexpr index_t most_in_part = 1 << 23;  // keys
constexpr double few_distinct = 0.45;      // of a sample
constexpr double few_once = 0.375;         // of a sample
constexpr std::uint64_t scattered_range = 1 << 10;
/// Fraction of distinct values in a sample of 4096: 32, or 256 values.
template <class B>
constexpr double handful = sizeof(B) == 8 ? 1.0 / 128 : 1.0 / 16;
constexpr index_t alone_bytes = 16
                                << 20;  // sorted without a team if in order, nearly so, or reversed
constexpr std::uint64_t small_range = 1 << 16;  // counters for it fit any second-level cache

/// Reverses the items. The swapped parts stay in the cache for the callback.
template <class Item>
void reverse(const Block<Item>& block) {
  constexpr index_t at_once = (index_t{128} << 10) / sizeof(Item);
  Item* const data = block.data;
  const index_t n = block.n;
  machine::parallel_for(0, n / 2, 4 * task_grain, [&block, data, n](index_t first, index_t last) {
    for (index_t begin = first; begin < last; begin += at_once) {
      const index_t end = std::min(begin + at_once, last);
      for (index_t i = begin; i < end; ++i) std::swap(data[i], data[n - 1 - i]);
      if (block.done == nullptr) continue;
      (*block.done)(data + begin, end - begin);
      (*block.done)(data + n - end, end - begin);
    }
  });
}

bool nearly_sorted(const Glance& glanced) {
  return glanced.descents < std::max<index_t>(1, glanced.keys / displaced_share);
}

/// Sorts items that are in order, nearly so, or reversed; returns false for others.
template <class Item>
bool sort_ordered(const Block<Item>& block, const Glance& glanced) {
  if (nearly_sorted(glanced) && (in_order(block) || put_back_displaced(block))) return true;
  if (glanced.ascents > 0 || !in_order(block, Order::descending)) return false;
  reverse(block);
  return true;
}

/// Sorts by quicksort on one thread; returns false if the instruction set has none or the team has
/// several threads.
template <class B>
bool quicksort_alone(const Block<B>& block) {
  const auto quicksort = leaf_kernels<B>().quicksort;
  if (quicksort == nullptr || team() > 1) return false;
  quicksort(block.data, block.n, block.map);
  return true;
}

/// Sorts a part for each thread by quicksort and merges the parts; returns false for long parts,
/// whose passes radix saves, and if the instruction set has no quicksort.
template <class B>
bool quicksort_in_parts(const Block<B>& block) {
  const auto quicksort = leaf_kernels<B>().quicksort;
  const index_t parts = team();
  if (quicksort == nullptr || sizeof(B) == 4 || block.n < parts * least_uneven ||
      block.n > parts * most_in_part)
    return false;
  on_bits(block, [&](B* data, B* scratch, index_t n) {
    machine::List<Run<B>> runs;
    for (index_t p = 0; p < parts; ++p) {
      const index_t begin = n * p / parts;
      runs.push_back({data + begin, n * (p + 1) / parts - begin});
    }
    machine::parallel_for(0, parts, 1, [&](index_t begin, index_t end) {
      for (index_t p = begin; p < end; ++p)
        quicksort(data + n * p / parts, n * (p + 1) / parts - n * p / parts, {});
    });
    merge_runs<B>(runs, scratch);
    copy_items(scratch, data, n);
  });
  return true;
}

/// Returns whether n keys fit a last-level cache together with other data. The whole cache counts,
/// even if ranks share it: 16 ranks with 33 MB each took 49 to 57 ms by the plan for 300 MiB, 68 by
/// the plan for a share.
template <class B>
bool in_cache(index_t n) {
  return n <= few_in_cache || n * static_cast<index_t>(sizeof(B)) <= machine::caches().whole_l3 / 4;
}

/// Returns whether that cache is so large that the first level of division need not minimise
/// accesses to it: quicksort is then faster than radix, for evenly distributed keys too.
template <class B>
bool in_roomy_cache(index_t n) {
  return machine::caches().whole_l3 / 4 >= 2 * few_in_cache * index_t{sizeof(std::uint64_t)} &&
         in_cache<B>(n) && n >= (sizeof(B) == 8 ? least_roomy : least_uneven);
}

/// Returns whether quicksort avoids memory traffic in each of its few passes over many equal keys.
template <class B>
bool fits_quicksort(index_t n) {
  return sizeof(B) == 4 || in_cache<B>(n);
}

/// Sorts a handful of distinct values by quicksort, which removes equal keys from the recursion,
/// otherwise by counting each value.
template <class B>
bool sort_handful(const Block<B>& block, const Repeats& repeats) {
  if (repeats.distinct >= handful<B>) return false;
  return (fits_quicksort<B>(block.n) && quicksort_alone(block)) || sort_few_values(block);
}

/// Sorts up to some thousands of distinct values by counting each: not if few keys must pay for
/// sorting those values, nor if a table of them is slower than quicksort with 32 bits.
template <class B>
bool sort_some_values(const Block<B>& block, const Repeats& repeats) {
  const double most = block.n < 4 * least_uneven ? 0.2 : sizeof(B) == 4 ? few_distinct : 1;
  return repeats.once < few_once && repeats.distinct < most && sort_few_values(block);
}

/// Sorts keys with many duplicates: few values as above, more by quicksort, or by bucketed counting
/// if their range is narrow.
template <class B>
bool sort_repeated(const Block<B>& block, const Glance& glanced) {
  const Repeats repeats = glance_at_repeats(block);
  if (sort_handful(block, repeats) || sort_some_values(block, repeats)) return true;
  if (fits_quicksort<B>(block.n) && repeats.distinct < few_distinct && quicksort_alone(block))
    return true;
  const bool has_quicksort = team() == 1 && leaf_kernels<B>().quicksort != nullptr;
  auto narrow = std::min(static_cast<std::uint64_t>(block.n), counting_range);
  if (has_quicksort && in_roomy_cache<B>(block.n))
    narrow =
        sizeof(B) == 4 ? small_range : std::min(narrow, static_cast<std::uint64_t>(block.n / 16));
  const double most_once = has_quicksort && in_cache<B>(block.n) ? 0.5 : 0.75;  // of a sample
  if (glanced.range() <= narrow && repeats.once < most_once) {
    const Survey seen = survey(block);
    if (seen.range() <= narrow) {
      counting_bucketed(block, seen);
      return true;
    }
  }
  return repeats.once < few_once &&
         (team() > 1 ? quicksort_in_parts(block) : quicksort_alone(block));
}
bool sort_repeated(const Block<Pair>&, const Glance&) { return false; }

/// Sorts keys of a narrow range by counting, except for a handful of values spread over many
/// buckets.
template <class B>
void sort_narrow(const Block<B>& block, const Survey& seen) {
  if (seen.range() < scattered_range || !sort_handful(block, glance_at_repeats(block)))
    counting_bucketed(block, seen);
}
void sort_narrow(const Block<Pair>& block, const Survey& seen) { counting_bucketed(block, seen); }

/// Sorts unevenly distributed keys: sampled pivots partition them better than slices of their
/// range. Within a cache pivots are as good wherever slices are uneven, and take no scratch memory.
template <class B>
bool sort_uneven(const Block<B>& block) {
  if (team() > 1) return false;
  if (in_roomy_cache<B>(block.n) && quicksort_alone(block)) return true;
  if (block.n < least_uneven) return false;
  const Spread spread = Radix<B>::spread(block);
  if (spread == Spread::even || (spread == Spread::even_in_slices && !in_cache<B>(block.n)))
    return false;
  return quicksort_alone(block);
}
bool sort_uneven(const Block<Pair>&) { return false; }

template <class Item>
void merge_natural_runs(Item* data, Item* scratch, index_t n) {
  machine::List<Run<Item>> runs;
  index_t begin = 0;
  for (index_t i = 1; i <= n; ++i) {
    if (i < n && !(data[i] < data[i - 1])) continue;
    runs.push_back({data + begin, i - begin});
    begin = i;
  }
  merge_runs<Item>(runs, scratch);
  copy_items(scratch, data, n);
}

}  // namespace

std::string_view name(Plan plan) {
  constexpr std::array<std::string_view, 4> names{"merge_runs", "displaced", "counting_bucketed",
                                                  "radix"};
  return names[static_cast<std::size_t>(plan)];
}

Plan choose(const Survey& seen, index_t n) {
  if (seen.descents < most_runs) return Plan::merge_runs;
  if (seen.range() < small_range && static_cast<index_t>(seen.range()) < n / 4)
    return Plan::counting_bucketed;
  if (seen.descents < n / displaced_share) return Plan::displaced;
  return Plan::radix;
}

namespace {

/// Returns whether a full survey might yield another plan than radix; of pairs, whatever their
/// range.
bool partly_ordered(const Glance& seen) {
  return seen.descents < seen.keys / 64 || seen.ascents < seen.keys / 64;
}
bool promising(const Glance& seen, index_t n) {
  return partly_ordered(seen) ||
         choose({seen.min, seen.max, seen.varying, n / 2, n / 2}, n) != Plan::radix;
}

/// Returns whether a part of seemingly ordered keys, which would not be counted, already has too
/// many runs to be merged.
template <class Item>
bool has_many_runs(const Block<Item>& block, const Glance& seen) {
  constexpr index_t some = 1 << 18;
  const bool counted = !std::is_same_v<Item, Pair> && seen.range() < small_range;
  if (!nearly_sorted(seen) || counted) return false;
  return survey(Block<Item>{block.data, nullptr, std::min(some, block.n / 8), block.map})
             .descents >= most_runs;
}

}  // namespace

template <class Item>
void automatic(const Block<Item>& block) {
  const Glance glanced = glance(block);
  if (sort_ordered(block, glanced)) return;
  Survey seen;
  Plan plan = Plan::radix;
  // Pairs must be moved: counting their keys takes 1.5 to 4 times as long as radix.
  constexpr bool counts = !std::is_same_v<Item, Pair>;
  if ((counts ? promising(glanced, block.n) : partly_ordered(glanced)) &&
      !has_many_runs(block, glanced))
    plan = choose(seen = survey(block), block.n);
  if (!counts && plan == Plan::counting_bucketed) plan = Plan::radix;
  if ((plan == Plan::displaced || plan == Plan::radix) && sort_repeated(block, glanced)) return;
  switch (plan) {
    case Plan::merge_runs:
      on_bits(block,
              [](Item* data, Item* scratch, index_t n) { merge_natural_runs(data, scratch, n); });
      return;
    case Plan::displaced:
      if (nearly_sorted(glanced) || !put_back_displaced(block)) radix(block);
      return;
    case Plan::counting_bucketed:
      sort_narrow(block, seen);
      return;
    case Plan::radix:
      if (!sort_uneven(block)) radix(block);
      return;
  }
}
TESSERA_SORT_INSTANTIATE(automatic);

template <class Item>
index_t automatic_workspace(index_t n, int threads) {
  // Counting bucketed keys takes two bytes for each value of their range, which is at most n.
  constexpr index_t of_key = 4, of_thread = index_t{256} << 10;
  return Radix<Item>::workspace_bytes(n, threads) + of_key * n + of_thread * threads;
}
template index_t automatic_workspace<std::uint32_t>(index_t, int);
template index_t automatic_workspace<std::uint64_t>(index_t, int);
template index_t automatic_workspace<Pair>(index_t, int);

template <class B>
bool automatic_in_place(const Block<B>& block) {
  return sort_ordered(block, glance(block)) || (block.n >= least_uneven && quicksort_alone(block));
}

template <class Item>
bool sort_ordered(const Block<Item>& block, int threads) {
  constexpr index_t bytes = sizeof(Item);
  const index_t first = std::min(block.n, alone_bytes / bytes);
  const auto part = [&](index_t begin, index_t end) {
    return Block<Item>{block.data + begin, nullptr, end - begin, block.map};
  };
  for (const Order order : {Order::ascending, Order::descending}) {
    if (!in_order(part(0, first), order)) continue;
    bool all = true;
    if (first < block.n)
      machine::parallel(threads, [&] { all = in_order(part(first - 1, block.n), order); });
    if (all && order == Order::descending)
      machine::parallel(first == block.n ? 1 : threads, [&] { reverse(block); });
    return all;
  }
  return first == block.n && nearly_sorted(glance(block)) && put_back_displaced(block);
}
template bool sort_ordered(const Block<std::uint32_t>&, int);
template bool sort_ordered(const Block<std::uint64_t>&, int);
template bool sort_ordered(const Block<Pair>&, int);

template bool automatic_in_place(const Block<std::uint32_t>&);
template bool automatic_in_place(const Block<std::uint64_t>&);

}  // namespace tessera::inline v1::sort
