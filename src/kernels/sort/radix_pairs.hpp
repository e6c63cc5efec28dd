#pragma once
// Radix sort of pairs: one distribution by the highest varying bits into buckets that fit the cache, then
// every bucket, as a task, by stable in-cache passes.

#include "kernels/sort/distribute.hpp"
#include "kernels/sort/survey.hpp"

namespace tessera::sort {

inline constexpr index_t pair_bucket_bytes = 64
                                             << 10;  // with its twin in scratch inside a second-level cache
inline constexpr int most_pair_bits = 12;
inline constexpr index_t small_pairs = 64;

/// Stable passes of 8 bits over the bits of `varying` from the lowest; the result lies in data.
inline void sort_pairs_in_cache(Pair* data, Pair* scratch, index_t n, std::uint64_t varying) {
  Pair* from = data;
  Pair* to = scratch;
  for (int shift = 0; shift < std::numeric_limits<std::uint64_t>::digits; shift += 8) {
    if (((varying >> shift) & 255) == 0) continue;
    index_t place[256] = {};
    for (index_t i = 0; i < n; ++i) ++place[(key_of(from[i]) >> shift) & 255];
    index_t sum = 0;
    for (index_t& p : place) sum += std::exchange(p, sum);
    for (index_t i = 0; i < n; ++i) to[place[(key_of(from[i]) >> shift) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != data) std::copy(from, from + n, data);
}

/// Sorts data[0:n] of mapped bits; the result lies in `home`, which is data or scratch.
inline void radix_pairs(Pair* data, Pair* scratch, Pair* home, index_t n) {
  if (n <= small_pairs) {
    insertion_sort(data, n);
    if (home != data) std::copy(data, data + n, home);
    return;
  }
  const Survey seen = survey(Block<Pair>{data, scratch, n, {}});
  if (seen.descents == 0) {
    if (home != data) copy_items(data, home, n);
    return;
  }
  if (n * static_cast<index_t>(sizeof(Pair)) <= pair_bucket_bytes) {
    sort_pairs_in_cache(data, scratch, n, static_cast<std::uint64_t>(seen.varying));
    if (home != data) std::copy(data, data + n, home);
    return;
  }
  const auto low = static_cast<std::uint64_t>(seen.min);
  const index_t wanted = n * static_cast<index_t>(sizeof(Pair)) / pair_bucket_bytes;
  const int bits = std::clamp(bit_length(static_cast<std::uint64_t>(wanted)), 6, most_pair_bits);
  const int shift = std::max(0, bit_length(seen.range()) - bits);
  const index_t buckets = static_cast<index_t>(seen.range() >> shift) + 1;
  machine::Buffer<index_t> begin(buckets + 1);
  distribute(
      data, scratch, n, buckets, begin.data(),
      [=](const Pair& item) {
        return static_cast<index_t>(static_cast<std::uint64_t>(key_of(item) - low) >> shift);
      },
      [](const Pair& item) { return item; });
  machine::parallel_for(
      0, buckets, std::max<index_t>(1, buckets / (32 * team())), [&](index_t first, index_t last) {
        for (index_t b = first; b < last; ++b) {
          radix_pairs(scratch + begin[b], data + begin[b], home + begin[b], begin[b + 1] - begin[b]);
        }
      });
}

}  // namespace tessera::sort
