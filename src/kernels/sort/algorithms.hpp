#pragma once
// The sort algorithms that others call, instantiated for u32, u64 and Pair in their files. As all
// entries of host_sorts.hpp, each sorts block.data by the mapped bits (pairs by (key, index), given
// ascending indices), on the threads of the enclosing parallel region.

#include "kernels/sort/survey.hpp"

namespace tessera::inline v1::sort {

template <class Item>
void counting(const Block<Item>& block);
template <class Item>
void counting_bucketed(const Block<Item>& block);
template <class Item>
void counting_bucketed(const Block<Item>& block, const Survey& seen);  ///< with its survey
template <class Item>
void radix(const Block<Item>& block);

/// The widest range max - min (of bits) that the counting sorts support.
inline constexpr std::uint64_t counting_range = std::uint64_t{1} << 28;

/// Instantiates an algorithm, at the end of its file.
#define TESSERA_SORT_INSTANTIATE(algorithm)             \
  template void algorithm(const Block<std::uint32_t>&); \
  template void algorithm(const Block<std::uint64_t>&); \
  template void algorithm(const Block<Pair>&)

}  // namespace tessera::inline v1::sort
