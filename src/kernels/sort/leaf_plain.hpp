#pragma once
// The inner kernels of radix in portable C++: larger parts by stable LSD passes of eight bits
// within the cache, small ones by quicksort without branches on keys and by insertion. Templates
// for plain and traced keys.

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/sort/leaf.hpp"

namespace tessera::inline v1::sort::plain {
namespace {  // separate for each instruction set

template <class B>
constexpr index_t few = 1024 / sizeof(B);

template <class B>
void insert_all(B* keys, index_t n) {
  for (index_t i = 1; i < n; ++i) {
    const Plain<B> key = keys[i];
    index_t hole = i;
    for (; hole > 0 && key < keys[hole - 1]; --hole) keys[hole] = keys[hole - 1];
    keys[hole] = key;
  }
}

template <class B>
void sort_small(B* keys, index_t n) {
  while (n > 16) {
    const Plain<B> pivot = std::max(std::min(keys[0], keys[n / 2]),
                                    std::min(std::max(keys[0], keys[n / 2]), keys[n - 1]));
    index_t below = 0;
    for (index_t i = 0; i < n; ++i) {
      const Plain<B> key = keys[i];
      keys[i] = keys[below];
      keys[below] = key;
      below += key < pivot ? 1 : 0;
    }
    if (below == 0) {  // the pivot is the least: keys equal to it are in place after one more round
      for (index_t i = 0; i < n; ++i) {
        const Plain<B> key = keys[i];
        keys[i] = keys[below];
        keys[below] = key;
        below += key == pivot ? 1 : 0;
      }
    } else {
      sort_small(keys, below);
    }
    keys += below;
    n -= below;
  }
  insert_all(keys, n);
}

template <class B>
void to_raw(B* keys, index_t n, const KeyMap<Plain<B>>& map) {
  if (map.identity()) return;
  for (index_t i = 0; i < n; ++i) keys[i] = map.to_raw(keys[i]);
}

template <class B>
void sort_few(const B* from, B* to, index_t n, Bounds<Plain<B>>, const KeyMap<Plain<B>>& map) {
  if (from != to) std::copy(from, from + n, to);
  sort_small(to, n);
  to_raw(to, n, map);
}

template <class B>
void sort_many(const Bucket<B>& bucket) {
  using Bits = Plain<B>;
  Bits any = 0, every = static_cast<Bits>(~Bits{0});
  B* to = bucket.to;
  for (index_t p = 0; p < bucket.count; ++p) {
    for (index_t i = 0; i < bucket.pieces[p].n; ++i) {
      const Bits bits = bucket.pieces[p].data[i];
      any |= bits;
      every &= bits;
      *to++ = bits;
    }
  }
  B* from = bucket.to;
  to = bucket.work;
  for (int shift = 0; shift < std::numeric_limits<Bits>::digits; shift += 8) {
    if ((((any ^ every) >> shift) & 255) == 0) continue;
    index_t place[256] = {};
    for (index_t i = 0; i < bucket.n; ++i) ++place[(from[i] >> shift) & 255];
    index_t sum = 0;
    for (index_t& p : place) sum += std::exchange(p, sum);
    for (index_t i = 0; i < bucket.n; ++i) to[place[(from[i] >> shift) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != bucket.to) std::copy(from, from + bucket.n, bucket.to);
  to_raw(bucket.to, bucket.n, bucket.map);
}

template <class B>
void classify(const Division<Plain<B>>& division, const B* raw, index_t n, const B* ahead, B* bits,
              std::uint16_t* bucket) {
  for (index_t i = 0; i < n; i += 64 / static_cast<index_t>(sizeof(B)))
    __builtin_prefetch(ahead + i);
  for (index_t i = 0; i < n; ++i) {
    const Plain<B> its = division.map.to_bits(raw[i]);
    bits[i] = its;
    if constexpr (sizeof(Plain<B>) == sizeof(double)) {
      if (division.by_value) {
        const Plain<B> plain = raw[i];
        bucket[i] =
            static_cast<std::uint16_t>(bucket_of_value(division, std::bit_cast<double>(plain)));
        continue;
      }
    }
    const std::uint64_t above = std::max(its, division.low) - division.low;
    const std::uint64_t place =
        division.logarithmic
            ? log_place(above)
            : (std::min<std::uint64_t>(above, division.range) >> division.right) << division.left;
    if (division.table == nullptr) {
      bucket[i] = static_cast<std::uint16_t>((place >> 12) * division.factor >> 16);
    } else {
      const std::uint32_t entry = division.table[place >> 16];
      bucket[i] =
          static_cast<std::uint16_t>((entry >> 16) + ((place & 0xffff) * (entry & 0xffff) >> 16));
    }
  }
}

void copy_past_cache(const void* from, void* to, index_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

template <class B>
Survey survey(const B* raw, index_t n, B first, const KeyMap<Plain<B>>& map) {
  using Bits = Plain<B>;
  Bits least = static_cast<Bits>(~Bits{0}), greatest = 0, any = 0,
       every = static_cast<Bits>(~Bits{0});
  index_t descents = 0, ascents = 0;
  Bits before = map.to_bits(first);
  for (index_t i = 0; i < n; ++i) {
    const Bits bits = map.to_bits(raw[i]);
    least = std::min(least, bits);
    greatest = std::max(greatest, bits);
    any |= bits;
    every &= bits;
    descents += bits < before ? 1 : 0;
    ascents += before < bits ? 1 : 0;
    before = bits;
  }
  return {least, greatest, static_cast<std::uint64_t>(any ^ every), descents, ascents};
}

template <class B>
constexpr LeafKernels<B> kernels() {
  return {few<B>, sort_few<B>, sort_many<B>, classify<B>, copy_past_cache, survey<B>};
}

}  // namespace
}  // namespace tessera::inline v1::sort::plain
