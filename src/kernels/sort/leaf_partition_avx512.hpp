#pragma once
// Partition by a pivot in AVX-512 registers. Only for leaf_avx512.cpp; everything here has internal
// linkage. A vector is partitioned by one or two permutations and stored whole at both ends.

#include "kernels/sort/leaf_lanes_avx512.hpp"

namespace tessera::inline v1::sort::avx512 {
namespace {

/// A table of permutations: byte j of entry m is the lane that moves to position j when the lanes
/// of mask m come first, in order.
struct PartTable {
  std::uint64_t entry[256];
};
constexpr PartTable make_part_table() {
  PartTable table{};
  for (unsigned m = 0; m < 256; ++m) {
    unsigned place = 0;
    for (unsigned pass = 0; pass < 2; ++pass) {
      for (unsigned lane = 0; lane < 8; ++lane) {
        if (((m >> lane) & 1) != 1 - pass) continue;
        table.entry[m] |= std::uint64_t{lane} << (8 * place++);
      }
    }
  }
  return table;
}
alignas(64) constexpr PartTable part_table = make_part_table();

/// From [16 - k] on: the permutation that rotates 16 lanes up by k.
alignas(64) constexpr std::uint32_t turned[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10,
                                                  11, 12, 13, 14, 15, 0,  1,  2,  3,  4, 5,
                                                  6,  7,  8,  9,  10, 11, 12, 13, 14, 15};

/// Returns v with the lanes of m first. Eight lanes by the table; sixteen by compression on either
/// side, because a table would be too long.
TESSERA_INLINE Keys<std::uint64_t> parted(Keys<std::uint64_t> v, __mmask8 m) {
  const auto order =
      _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<long long>(part_table.entry[m])));
  return simd::lookup(v, reinterpret_cast<Keys<std::uint64_t>>(order));
}
TESSERA_INLINE Keys<std::uint32_t> parted(Keys<std::uint32_t> v, __mmask16 m) {
  using V = Keys<std::uint32_t>;
  const auto keys = reinterpret_cast<__m512i>(v);
  const auto low = reinterpret_cast<V>(_mm512_maskz_compress_epi32(m, keys));
  const auto above =
      reinterpret_cast<V>(_mm512_maskz_compress_epi32(static_cast<__mmask16>(~m), keys));
  return low | simd::lookup(above, simd::load<V>(turned + 16 - _mm_popcnt_u32(m)));
}

/// The destinations of the next keys: below the pivot to the front, others to the back.
template <class B>
struct Ends {
  B* front;
  index_t gap;  ///< free elements between front and back

  using Mask = simd::Mask<Keys<B>>;

  /// Stores a vector of keys. Precondition: the gap is one vector or at least two.
  void put(Keys<B> v, Mask below) {
    const auto keys = parted(v, below);
    simd::store(front, keys);
    simd::store(front + gap - lanes<B>, keys);
    front += _mm_popcnt_u32(below);
    gap -= lanes<B>;
  }
  /// Stores the keys of the mask.
  void put_some(Keys<B> v, Mask valid, Mask below) {
    const auto above = static_cast<Mask>(valid & ~below);
    const index_t up = _mm_popcnt_u32(above), low = _mm_popcnt_u32(below);
    simd::store_compressed(front, below, v);
    simd::store_compressed(front + gap - up, above, v);
    front += low;
    gap -= up + low;
  }
};

/// Partitions data such that data[0:result] are its keys below the pivot and data[result:n] the
/// others; n is at least sixteen vectors. First loads eight vectors of either end; then eight more
/// at a time from the end with less free space. `as` is applied to all of them.
template <class B, class As>
index_t partition(B* data, index_t n, B pivot, const As& as) {
  using V = Keys<B>;
  constexpr index_t lanes = avx512::lanes<B>, at_once = 8, step = at_once * lanes;
  constexpr index_t ahead = 8 * step;  // from either end: the hardware prefetcher alone is slower
                                       // beyond a second-level cache
  const V limit = simd::broadcast<V>(pivot);
  const index_t rest = n % lanes;
  const auto valid = simd::first_lanes<V>(rest);
  const V odd = as(simd::load_or(V{}, valid, data));
  V kept[3 * at_once - 1];
  for (index_t v = 0; v < at_once; ++v) {
    kept[v] = as(simd::load<V>(data + rest + v * lanes));
    kept[v + at_once] = as(simd::load<V>(data + n - step + v * lanes));
  }
  Ends<B> ends{data, n};
  const B *left = data + rest + step, *right = data + n - step;
  while (right - left >= step) {
    const index_t room_left = left - ends.front, room_right = ends.front + ends.gap - right;
    const index_t from_left =
        room_left <= room_right ? step : 0;  // both directions are equally likely: branch-free
    right -= step - from_left;
    const auto* const from = from_left != 0 ? left : right;
    left += from_left;
    V some[at_once];
    const auto* const later = from + (from_left != 0 ? ahead : -ahead);
    for (index_t v = 0; v < at_once; ++v) {
      _mm_prefetch(reinterpret_cast<const char*>(later + v * lanes), _MM_HINT_T0);
      some[v] = as(simd::load<V>(from + v * lanes));
    }
    for (index_t v = 0; v < at_once; ++v) ends.put(some[v], simd::less(some[v], limit));
  }
  index_t vectors = 2 * at_once;
  for (; left < right; left += lanes) kept[vectors++] = as(simd::load<V>(left));
  ends.put_some(odd, valid, static_cast<simd::Mask<V>>(simd::less(odd, limit) & valid));
  for (index_t v = 0; v < vectors; ++v) ends.put(kept[v], simd::less(kept[v], limit));
  return ends.front - data;
}

/// Partitions the keys of the pieces, those below the pivot to to[0:result], the others to
/// to[result:n]; the pieces do not overlap `to`.
template <class B>
index_t partition_pieces(const Bucket<B>& bucket, B* to, B pivot) {
  using V = Keys<B>;
  constexpr index_t pieces_ahead = 3, lanes = avx512::lanes<B>;
  const V limit = simd::broadcast<V>(pivot);
  Ends<B> ends{to, bucket.n};
  for (index_t p = 0; p < bucket.count; ++p) {
    const auto [from, length] = bucket.pieces[p];
    // Hardware prefetchers stop at the ends of pieces.
    const auto* const after =
        bucket.pieces[p + pieces_ahead < bucket.count ? p + pieces_ahead : p].data;
    index_t i = 0;
    for (; i + lanes <= length && ends.gap >= 2 * lanes; i += lanes) {
      _mm_prefetch(reinterpret_cast<const char*>(after + i), _MM_HINT_T0);
      const auto v = simd::load<V>(from + i);
      ends.put(v, simd::less(v, limit));
    }
    for (; i < length; i += lanes) {
      const auto valid = simd::first_lanes<V>(length - i);
      const V v = simd::load_or(V{}, valid, from + i);
      ends.put_some(v, valid, static_cast<simd::Mask<V>>(simd::less(v, limit) & valid));
    }
  }
  return ends.front - to;
}

}  // namespace
}  // namespace tessera::inline v1::sort::avx512
