#pragma once
// The table of sorts that run on the CPU, one entry each: variants.cpp makes the rows of it, and
// the laboratory the traced kernels. Its first entry is the reference of the tests.

#include <cstdint>
#include <string_view>
#include <tuple>

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/cache_oblivious.hpp"
#include "kernels/sort/heapsort.hpp"
#include "kernels/sort/mergesort.hpp"
#include "kernels/sort/odd_even.hpp"
#include "kernels/sort/quicksort.hpp"
#include "kernels/sort/samplesort.hpp"
#include "kernels/sort/standard.hpp"

namespace tessera::inline v1::sort {

inline constexpr std::uint64_t any_range = ~std::uint64_t{0};

/// The items on which a sort can be traced.
enum class Traces { keys_and_pairs, keys };

/// A sort of the CPU. `sort` is called with a Block of u32, u64 or Pair, or of their traced forms;
/// it uses no memory proportional to n but the block's.
template <class Sort>
struct HostSort {
  std::string_view name;
  std::string_view about;  ///< one line, with its source
  Sort sort;
  std::uint64_t widest_range = any_range;  ///< of max - min in bits
  Traces traces = Traces::keys_and_pairs;
};
template <class Sort>
HostSort(std::string_view, std::string_view, Sort, std::uint64_t = any_range,
         Traces = Traces::keys_and_pairs) -> HostSort<Sort>;

#define SORT(function) [](const auto& block) { function(block); }
inline constexpr std::tuple host_sorts{
    HostSort{"std", "std::sort; one thread (reference)", SORT(standard)},
    HostSort{"counting", "counting sort; one thread (Seward 1954)", SORT(counting), counting_range},
    HostSort{"counting_bucketed", "counting sort in cache-sized buckets of adjacent keys",
             SORT(counting_bucketed), counting_range},
    HostSort{"quicksort", "quicksort, parallel branchless partition (Edelkamp and Weiss 2016)",
             SORT(quicksort)},
    HostSort{"mergesort", "merge sort, parallel merges, stable (Cormen et al. 2009)",
             SORT(mergesort)},
    HostSort{"samplesort", "super scalar sample sort (Sanders and Winkel 2004)", SORT(samplesort)},
    HostSort{"radix", "MSD radix sort, one distribution, then buckets in cache", SORT(radix),
             any_range, Traces::keys},
    HostSort{"cache_oblivious", "lazy funnelsort (Brodal and Fagerberg 2002)",
             SORT(cache_oblivious)},
    HostSort{"heapsort", "heap sort, in place; one thread (Williams 1964)", SORT(heapsort)},
    HostSort{"odd_even",
             "odd-even transposition of 32 parts: neighbours merge (Baudet and Stevenson 1978)",
             SORT(odd_even)},
};
#undef SORT

}  // namespace tessera::inline v1::sort
