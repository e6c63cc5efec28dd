// The inner kernels of radix in plain C++: a bucket is sorted by stable passes of eight bits inside the
// cache.

#include <algorithm>
#include <utility>

#include "kernels/sort/leaf.hpp"

namespace tessera::sort {
namespace {

constexpr index_t few = 48;  // keys; below, passes over 256 counters cost more than insertions

template <class B>
void insert_all(B* keys, index_t n) {
  for (index_t i = 1; i < n; ++i) {
    const B key = keys[i];
    index_t hole = i;
    for (; hole > 0 && key < keys[hole - 1]; --hole) keys[hole] = keys[hole - 1];
    keys[hole] = key;
  }
}

template <class B>
void sort_bits(B* data, B* work, index_t n, B varying) {
  B* from = data;
  B* to = work;
  for (int shift = 0; shift < std::numeric_limits<B>::digits; shift += 8) {
    if (((varying >> shift) & 255) == 0) continue;
    index_t place[256] = {};
    for (index_t i = 0; i < n; ++i) ++place[(from[i] >> shift) & 255];
    index_t sum = 0;
    for (index_t& p : place) sum += std::exchange(p, sum);
    for (index_t i = 0; i < n; ++i) to[place[(from[i] >> shift) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != data) std::copy(from, from + n, data);
}

template <class B>
void sort_bucket(const Bucket<B>& bucket) {
  const auto& pieces = bucket.from;
  B* to = bucket.to;
  B any = 0, every = static_cast<B>(~B{0});
  for (index_t p = 0; p < pieces.count; ++p) {
    const std::uint32_t* const begin = pieces.begin + p * pieces.stride;
    const B* from = pieces.data + p * pieces.block;
    for (index_t i = begin[0]; i < begin[1]; ++i) {
      const B bits = bucket.map.to_bits(from[i]);
      any |= bits;
      every &= bits;
      *to++ = bits;
    }
  }
  if (bucket.n <= few) {
    insert_all(bucket.to, bucket.n);
  } else {
    sort_bits(bucket.to, bucket.work, bucket.n, static_cast<B>(any ^ every));
  }
  if (!bucket.map.identity()) {
    for (index_t i = 0; i < bucket.n; ++i) bucket.to[i] = bucket.map.to_raw(bucket.to[i]);
  }
}

template <class B>
Bounds<B> find_slices(const Slices<B>& slices, const B* raw, index_t n, std::uint16_t* to) {
  constexpr B last = (1 << slice_bits) - 1;
  Bounds<B> seen;
  for (index_t i = 0; i < n; ++i) {
    const B bits = slices.map.to_bits(raw[i]);
    seen = {std::min(seen.low, bits), std::max(seen.high, bits)};
    const B above = static_cast<B>(std::max(bits, slices.low) - slices.low);
    to[i] = static_cast<std::uint16_t>(std::min<B>(static_cast<B>(above >> slices.shift), last));
  }
  return seen;
}

}  // namespace

namespace baseline {
const LeafKernels<std::uint32_t> leaf_kernels32{find_slices<std::uint32_t>, sort_bucket<std::uint32_t>};
const LeafKernels<std::uint64_t> leaf_kernels64{find_slices<std::uint64_t>, sort_bucket<std::uint64_t>};
}  // namespace baseline

}  // namespace tessera::sort
