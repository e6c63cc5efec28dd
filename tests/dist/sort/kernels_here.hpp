#pragma once
// Host substitutes, in a build without CUDA, for the device kernels of a distributed sort.

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/sort/resident.hpp"

namespace tessera::dist::sort {

namespace buckets = tessera::sort::buckets;
using tessera::sort::Bounds;
using tessera::sort::digit_of;
using tessera::sort::digit_values;
using tessera::sort::KeyMap;
using tessera::sort::part_of;
using tessera::sort::Parts;
using tessera::sort::prefix_of;
using tessera::sort::Prefixes;
using tessera::sort::ResidentKernels;
using tessera::sort::tie_of;

template <class B>
void count_here(const B* keys, index_t n, const KeyMap<B>& map, const Prefixes<B>& prefixes,
                std::uint64_t* counts, CUstream_st*) {
  for (index_t i = 0; i < n; ++i) {
    const B bits = map.to_bits(keys[i]);
    for (int p = 0; p < prefixes.count; ++p) {
      if (prefixes.bits[p] == prefix_of(bits, prefixes.known))
        ++counts[p * digit_values + digit_of(bits, prefixes.known)];
    }
  }
}
template <class B>
void find_descent_here(const B* keys, index_t n, const KeyMap<B>& map, std::uint64_t* descends,
                       CUstream_st*) {
  for (index_t i = 1; i < n; ++i)
    if (map.to_bits(keys[i]) < map.to_bits(keys[i - 1])) *descends = 1;
}
template <class B>
void partition_here(const B* keys, index_t n, const KeyMap<B>& map, const Bounds<B>& bounds,
                    const Parts<B>& parts, CUstream_st*) {
  for (index_t i = 0; i < n; ++i) {
    const B bits = map.to_bits(keys[i]);
    const int tie = tie_of(bounds, bits);
    const std::uint64_t number = tie < 0 ? 0 : parts.cursors[bounds.count + 1 + tie]++;
    const int part = part_of(bounds, bits, number);
    parts.data[part][parts.cursors[part]++] = keys[i];
  }
}
template <class B>
void sort_here(B* keys, B*, index_t n, const KeyMap<B>& map, std::byte*, CUstream_st*) {
  std::sort(keys, keys + n, [&](B x, B y) { return map.to_bits(x) < map.to_bits(y); });
}
/// Examines all keys.
inline void look_here(const std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map,
                      buckets::Plan* plan, CUstream_st*) {
  std::uint64_t differ = 0;
  for (index_t i = 1; i < n; ++i) differ |= map.to_bits(keys[i]) ^ map.to_bits(keys[0]);
  const int varying = tessera::sort::bit_length(differ);
  plan->known = 64 - varying;
  plan->going = varying >= buckets::least_varying_bits ? 1 : 0;
  plan->prefix = prefix_of(map.to_bits(keys[0]), plan->going != 0 ? plan->known : 0);
}

inline void count_fine_here(const std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map,
                            buckets::Plan* plan, CUstream_st*) {
  for (index_t i = 0; i < n; ++i) {
    const std::uint64_t bits = map.to_bits(keys[i]);
    const bool begins = prefix_of(bits, plan->known) == plan->prefix;
    ++plan->fine[begins ? buckets::fine_bin(bits, plan->known) : buckets::fine_bins];
  }
}

inline void divide_here(const std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map,
                        int count, buckets::Plan* plan, CUstream_st*) {
  for (index_t i = 0; i < n; ++i) {
    const std::uint64_t bits = map.to_bits(keys[i]);
    const int bucket = plan->bucket_of[buckets::fine_bin(bits, plan->known)];
    ASSERT_LT(bucket, count);
    *reinterpret_cast<std::uint64_t*>(plan->cursor[bucket]) = bits;
    plan->cursor[bucket] += sizeof(std::uint64_t);
  }
}

/// Sorts at once, after checking that the keys are in the buckets of the plan.
inline void sort_buckets_here(const std::uint64_t* bits, std::uint64_t*, std::uint64_t* to,
                              index_t n, const KeyMap<std::uint64_t>& map,
                              const buckets::Division& into, buckets::Plan* plan, std::byte*,
                              CUstream_st*) {
  constexpr index_t most_keys = 340;  // tests have about 240, and 100 to 400 equal ones
  ASSERT_NE(plan->going, 0U);
  index_t end = 0;
  for (int b = 0; b < into.buckets; ++b) {
    const buckets::Bucket& bucket = plan->bucket[b];
    EXPECT_EQ(bucket.begin, end);
    end += bucket.n;
    EXPECT_EQ(plan->first_tile[b + 1] - plan->first_tile[b],
              static_cast<unsigned>(ceil_div(bucket.n, index_t{64})));
    std::vector<index_t> keys(static_cast<std::size_t>(into.subs), 0);
    for (index_t i = bucket.begin; i < end; ++i) {
      ASSERT_GE(bits[i], bucket.low);
      const auto sub = static_cast<std::size_t>(buckets::place_in(bucket, bits[i]) >> 32);
      ASSERT_LT(sub, keys.size());
      if (++keys[sub] > most_keys) return;  // leaves the plan undone
    }
  }
  EXPECT_EQ(end, n);
  if (to != bits) std::copy_n(bits, n, to);
  std::sort(to, to + n);
  for (index_t i = 0; i < n; ++i) to[i] = map.to_raw(to[i]);
  plan->done = 1;
}

inline const buckets::Kernels* bucket_kernels_here() {
  static const buckets::Kernels kernels{
      1000,
      64,
      look_here,
      count_fine_here,
      divide_here,
      sort_buckets_here,
      [](const buckets::Division&) { return index_t{64}; },
      [](std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map, CUstream_st*) {
        for (index_t i = 0; i < n; ++i) keys[i] = map.to_raw(keys[i]);
      }};
  return &kernels;
}

template <class B>
ResidentKernels<B> kernels_here() {
  return {.count = count_here<B>,
          .find_descent = find_descent_here<B>,
          .partition = partition_here<B>,
          .sort = sort_here<B>,
          .work_bytes = [](index_t) { return index_t{64}; },
          .dividing = sizeof(B) == 8 ? bucket_kernels_here() : nullptr};
}

}  // namespace tessera::dist::sort
