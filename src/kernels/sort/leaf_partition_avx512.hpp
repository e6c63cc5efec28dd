#pragma once
// Partition by a pivot in AVX-512 registers, for leaf_avx512.cpp alone: everything here is local to
// its object. A vector is parted by one or two permutations and stored whole at both ends.

#include <immintrin.h>

#include <type_traits>

#include "kernels/sort/leaf.hpp"

namespace tessera::sort::avx512 {
namespace {

/// Byte j of entry m: the lane that comes to place j when the lanes of mask m come first, in order.
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

/// Eight keys at a time.
struct Eight64 {
  using B = std::uint64_t;
  using V = __m512i;
  using Mask = __mmask8;
  static constexpr index_t lanes = 8;
  static V load(const B* p) { return _mm512_loadu_si512(p); }
  static V load_some(const B* p, __mmask8 m) { return _mm512_maskz_loadu_epi64(m, p); }
  static void store(B* p, V v) { _mm512_storeu_si512(p, v); }
  static void store_some(B* p, __mmask8 m, V v) { _mm512_mask_compressstoreu_epi64(p, m, v); }
  static V all(B x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  static __mmask8 less(V a, V b) { return _mm512_cmplt_epu64_mask(a, b); }
  static V part(V v, __mmask8 m) {
    const auto order =
        _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(static_cast<long long>(part_table.entry[m])));
    return _mm512_permutexvar_epi64(order, v);
  }
};

/// From [16 - k] on: the lanes that 16 lanes take when they turn up by k.
alignas(64) constexpr std::uint32_t turned[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10,
                                                  11, 12, 13, 14, 15, 0,  1,  2,  3,  4, 5,
                                                  6,  7,  8,  9,  10, 11, 12, 13, 14, 15};

/// Sixteen: lanes of either side are pushed together, for which a table would be too long.
struct Sixteen32 {
  using B = std::uint32_t;
  using V = __m512i;
  using Mask = __mmask16;
  static constexpr index_t lanes = 16;
  static V load(const B* p) { return _mm512_loadu_si512(p); }
  static V load_some(const B* p, Mask m) { return _mm512_maskz_loadu_epi32(m, p); }
  static void store(B* p, V v) { _mm512_storeu_si512(p, v); }
  static void store_some(B* p, Mask m, V v) { _mm512_mask_compressstoreu_epi32(p, m, v); }
  static V all(B x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Mask less(V a, V b) { return _mm512_cmplt_epu32_mask(a, b); }
  static V part(V v, Mask m) {
    const auto low = _mm512_maskz_compress_epi32(m, v);
    const auto above = _mm512_maskz_compress_epi32(static_cast<Mask>(~m), v);
    const auto up = _mm512_loadu_si512(turned + 16 - _mm_popcnt_u32(m));
    return _mm512_or_si512(low, _mm512_permutexvar_epi32(up, above));
  }
};

/// Where the next keys go: below the pivot to the front, others to the back.
template <class E>
struct Ends {
  typename E::B* front;
  index_t gap;  ///< free places between front and back

  using Mask = typename E::Mask;

  /// A vector of keys; right when the gap is a vector or at least two.
  void put(typename E::V v, Mask below) {
    const auto parted = E::part(v, below);
    E::store(front, parted);
    E::store(front + gap - E::lanes, parted);
    front += _mm_popcnt_u32(below);
    gap -= E::lanes;
  }
  /// Those of the mask.
  void put_some(typename E::V v, Mask valid, Mask below) {
    const auto above = static_cast<Mask>(valid & ~below);
    const index_t up = _mm_popcnt_u32(above), low = _mm_popcnt_u32(below);
    E::store_some(front, below, v);
    E::store_some(front + gap - up, above, v);
    front += low;
    gap -= up + low;
  }
};

/// n at most the lanes.
template <class E>
typename E::Mask first_lanes(index_t n) {
  return static_cast<typename E::Mask>((1u << n) - 1);
}

/// data[0:result] = its keys below the pivot, data[result:n] = the others; n is at least sixteen
/// vectors. Eight of either end are taken out first; then eight more at a time from that end where
/// there is less room. `as` is applied to all of them.
template <class E, class As>
index_t partition(typename E::B* data, index_t n, typename E::B pivot, const As& as) {
  constexpr index_t lanes = E::lanes, at_once = 8, step = at_once * lanes;
  constexpr index_t ahead =
      8 * step;  // of either end: the hardware alone is slower beyond a second level
  const auto limit = E::all(pivot);
  const index_t rest = n % lanes;
  const auto valid = first_lanes<E>(rest);
  const auto odd = as(E::load_some(data, valid));
  typename E::V kept[3 * at_once - 1];
  for (index_t v = 0; v < at_once; ++v) {
    kept[v] = as(E::load(data + rest + v * lanes));
    kept[v + at_once] = as(E::load(data + n - step + v * lanes));
  }
  Ends<E> ends{data, n};
  const typename E::B *left = data + rest + step, *right = data + n - step;
  while (right - left >= step) {
    const index_t room_left = left - ends.front, room_right = ends.front + ends.gap - right;
    const index_t from_left =
        room_left <= room_right ? step : 0;  // both ways are as likely: no branch
    right -= step - from_left;
    const auto* const from = from_left != 0 ? left : right;
    left += from_left;
    typename E::V some[at_once];
    const auto* const later = from + (from_left != 0 ? ahead : -ahead);
    for (index_t v = 0; v < at_once; ++v) {
      _mm_prefetch(reinterpret_cast<const char*>(later + v * lanes), _MM_HINT_T0);
      some[v] = as(E::load(from + v * lanes));
    }
    for (index_t v = 0; v < at_once; ++v) ends.put(some[v], E::less(some[v], limit));
  }
  index_t vectors = 2 * at_once;
  for (; left < right; left += lanes) kept[vectors++] = as(E::load(left));
  ends.put_some(odd, valid, static_cast<typename E::Mask>(E::less(odd, limit) & valid));
  for (index_t v = 0; v < vectors; ++v) ends.put(kept[v], E::less(kept[v], limit));
  return ends.front - data;
}

/// to[0:result] = the keys of the pieces below the pivot, to[result:n] = the others; the pieces are
/// not `to`.
template <class E>
index_t partition_pieces(const Bucket<typename E::B>& bucket, typename E::B* to,
                         typename E::B pivot) {
  constexpr index_t pieces_ahead = 3, lanes = E::lanes;
  const auto limit = E::all(pivot);
  Ends<E> ends{to, bucket.n};
  for (index_t p = 0; p < bucket.count; ++p) {
    const auto [from, length] = bucket.pieces[p];
    // The hardware stops at the ends of pieces.
    const auto* const after =
        bucket.pieces[p + pieces_ahead < bucket.count ? p + pieces_ahead : p].data;
    index_t i = 0;
    for (; i + lanes <= length && ends.gap >= 2 * lanes; i += lanes) {
      _mm_prefetch(reinterpret_cast<const char*>(after + i), _MM_HINT_T0);
      const auto v = E::load(from + i);
      ends.put(v, E::less(v, limit));
    }
    for (; i < length; i += lanes) {
      const auto valid = first_lanes<E>(length - i < lanes ? length - i : lanes);
      const auto v = E::load_some(from + i, valid);
      ends.put_some(v, valid, static_cast<typename E::Mask>(E::less(v, limit) & valid));
    }
  }
  return ends.front - to;
}

template <class B>
using PartsOf = std::conditional_t<sizeof(B) == 4, Sixteen32, Eight64>;

}  // namespace
}  // namespace tessera::sort::avx512
