#pragma once
// Sorting networks in AVX-512 registers, for leaf_avx512.cpp alone: everything here is local to its
// object.
//
// Rows are registers, columns are lanes. Columns are sorted by comparing rows; then neighbouring
// columns are merged by bitonic steps (Batcher 1968), lanes first, then rows again, until one
// sequence runs down the columns; the transpose is stored.

#include <immintrin.h>

#include <utility>

#include "kernels/sort/leaf_lanes_avx512.hpp"

namespace tessera::sort::avx512 {
namespace {

/// The largest part that sixteen registers hold.
template <class B>
constexpr index_t network_keys = 16 * LanesOf<B>::lanes;

/// Lanes whose number has the bit.
template <class L>
constexpr unsigned lanes_with(int bit) {
  unsigned mask = 0;
  for (int lane = 0; lane < L::lanes; ++lane) mask |= (lane & bit) != 0 ? 1u << lane : 0u;
  return mask;
}

#define TESSERA_SORT_INLINE inline __attribute__((always_inline))

template <class L>
TESSERA_SORT_INLINE void compare_rows(__m512i& a, __m512i& b) {
  const __m512i low = L::min(a, b);
  b = L::max(a, b);
  a = low;
}

/// Comparators (a[i], b[i]) of rows.
struct Network {
  int size = 0;
  int a[64] = {}, b[64] = {};
  constexpr void add(int low, int high) {
    a[size] = low;
    b[size++] = high;
  }
};

/// Odd-even merge sort (Batcher 1968): 63 comparators for 16 rows, 19 for 8.
template <int rows>
constexpr Network sorting_network() {
  Network network;
  for (int p = 1; p < rows; p *= 2) {
    for (int k = p; k >= 1; k /= 2) {
      for (int j = k % p; j + k < rows; j += 2 * k) {
        for (int i = j; i < j + k && i + k < rows; ++i) {
          if (i / (2 * p) == (i + k) / (2 * p)) network.add(i, i + k);
        }
      }
    }
  }
  return network;
}

/// Sorts rows that hold a bitonic sequence.
template <int rows>
constexpr Network bitonic_network() {
  Network network;
  for (int k = rows / 2; k >= 1; k /= 2) {
    for (int i = 0; i < rows; ++i) {
      if ((i & k) == 0) network.add(i, i + k);
    }
  }
  return network;
}

// Comparators are unrolled by the type system: only then all rows stay in registers.
template <class L, class N, std::size_t... i>
TESSERA_SORT_INLINE void apply(__m512i* v, N network, std::index_sequence<i...>) {
  (compare_rows<L>(v[network().a[i]], v[network().b[i]]), ...);
}
template <class L, class N>
TESSERA_SORT_INLINE void apply(__m512i* v, N network) {
  apply<L>(v, network, std::make_index_sequence<static_cast<std::size_t>(network().size)>{});
}

/// The lane steps of a bitonic merge: distance, distance / 2, ..., 1.
template <class L, int distance, std::size_t... r>
TESSERA_SORT_INLINE void merge_lanes(__m512i* v, std::index_sequence<r...> rows) {
  if constexpr (distance > 0) {
    constexpr auto upper = static_cast<typename L::Mask>(lanes_with<L>(distance));
    const auto step = [](__m512i a) __attribute__((always_inline)) {
      const __m512i b = L::template exchange<distance>(a);
      return L::max_into(L::min(a, b), upper, a, b);
    };
    ((v[r] = step(v[r])), ...);
    merge_lanes<L, distance / 2>(v, rows);
  }
}

/// Each key of the lower group of columns meets its mirror image in the upper one.
template <class L, int group>
TESSERA_SORT_INLINE void mirror_rows(__m512i& a, __m512i& b) {
  constexpr auto upper = static_cast<typename L::Mask>(lanes_with<L>(group));
  const __m512i image = L::template exchange<2 * group - 1>(b);
  const __m512i low = L::min(a, image), high = L::max(a, image);
  a = L::blend(upper, low, high);
  b = L::template exchange<2 * group - 1>(L::blend(upper, high, low));
}

/// Merges groups of `group` columns to groups of twice as many, until all are one.
template <class L, int rows, int group, std::size_t... r>
TESSERA_SORT_INLINE void merge_columns(__m512i* v, std::index_sequence<r...> half) {
  if constexpr (group < L::lanes) {
    (mirror_rows<L, group>(v[r], v[rows - 1 - r]), ...);
    merge_lanes<L, group / 2>(v, std::make_index_sequence<rows>{});
    apply<L>(v, [] { return bitonic_network<rows>(); });
    merge_columns<L, rows, 2 * group>(v, half);
  }
}

/// Four registers as a 4 x 4 matrix of 128-bit words, transposed.
TESSERA_SORT_INLINE void transpose_words(__m512i& a, __m512i& b, __m512i& c, __m512i& d) {
  const __m512i even = _mm512_shuffle_i64x2(a, b, 0x88), odd = _mm512_shuffle_i64x2(a, b, 0xdd);
  const __m512i even2 = _mm512_shuffle_i64x2(c, d, 0x88), odd2 = _mm512_shuffle_i64x2(c, d, 0xdd);
  a = _mm512_shuffle_i64x2(even, even2, 0x88);
  b = _mm512_shuffle_i64x2(odd, odd2, 0x88);
  c = _mm512_shuffle_i64x2(even, even2, 0xdd);
  d = _mm512_shuffle_i64x2(odd, odd2, 0xdd);
}

/// v[0:8] (8, 8) transposed: v[2q + m] comes from words q of the pairs' low (m = 0) or high keys.
TESSERA_SORT_INLINE void transpose(Lanes64, __m512i* v) {
  __m512i t[8];
  for (int g = 0; g < 4; ++g) {
    t[g] = _mm512_unpacklo_epi64(v[2 * g], v[2 * g + 1]);
    t[4 + g] = _mm512_unpackhi_epi64(v[2 * g], v[2 * g + 1]);
  }
  for (int m = 0; m < 2; ++m) {
    transpose_words(t[4 * m], t[4 * m + 1], t[4 * m + 2], t[4 * m + 3]);
    for (int q = 0; q < 4; ++q) v[2 * q + m] = t[4 * m + q];
  }
}

/// v[0:16] (16, 16) transposed.
TESSERA_SORT_INLINE void transpose(Lanes32, __m512i* v) {
  __m512i t[16];
  for (int g = 0; g < 4; ++g) {  // t[4m + g], word q: column 4q + m of rows 4g .. 4g + 3
    const __m512i low01 = _mm512_unpacklo_epi32(v[4 * g], v[4 * g + 1]);
    const __m512i high01 = _mm512_unpackhi_epi32(v[4 * g], v[4 * g + 1]);
    const __m512i low23 = _mm512_unpacklo_epi32(v[4 * g + 2], v[4 * g + 3]);
    const __m512i high23 = _mm512_unpackhi_epi32(v[4 * g + 2], v[4 * g + 3]);
    t[g] = _mm512_unpacklo_epi64(low01, low23);
    t[4 + g] = _mm512_unpackhi_epi64(low01, low23);
    t[8 + g] = _mm512_unpacklo_epi64(high01, high23);
    t[12 + g] = _mm512_unpackhi_epi64(high01, high23);
  }
  for (int m = 0; m < 4; ++m) {
    transpose_words(t[4 * m], t[4 * m + 1], t[4 * m + 2], t[4 * m + 3]);
    for (int q = 0; q < 4; ++q) v[4 * q + m] = t[4 * m + q];
  }
}

/// to[0:n] = from[0:n] sorted, as raw keys; n <= rows * lanes. They may be the same memory.
template <class L, int rows, class Way>
void sort_registers(const typename L::B* from, typename L::B* to, index_t n, const Way& way) {
  __m512i v[rows];
  for (int r = 0; r < rows; ++r)
    v[r] = way.load(from + r * L::lanes, valid_lanes<L>(n, r * L::lanes));
  apply<L>(v, [] { return sorting_network<rows>(); });
  merge_columns<L, rows, 1>(v, std::make_index_sequence<rows / 2>{});
  for (int square = 0; square < rows; square += L::lanes) transpose(L{}, v + square);
  for (int column = 0; column < L::lanes; ++column) {
    for (int part = 0; part < rows; part += L::lanes) {
      const index_t at = column * rows + part;
      L::store(to + at, valid_lanes<L>(n, at), way.to_raw(v[part + column]));
    }
  }
}

template <class L, class Way>
void sort_rows(const typename L::B* from, typename L::B* to, index_t n, const Way& way) {
  if constexpr (L::lanes == 8) {
    if (n <= 8 * L::lanes) return sort_registers<L, 8>(from, to, n, way);
  }
  sort_registers<L, 16>(from, to, n, way);
}

/// The same for any n <= network_keys, all of whose bits lie in the bounds.
template <class B>
void sort_network(const B* from, B* to, index_t n, Bounds<B> bounds, const KeyMap<B>& key_map,
                  const Map<B>& map) {
  const Line<B> way = line(key_map, bounds);
  if (way.exists)
    sort_rows<NumbersOf<B>>(from, to, n, ByLine<B>(way));
  else
    sort_rows<LanesOf<B>>(from, to, n, ByMap<B>(map));
}

#undef TESSERA_SORT_INLINE

}  // namespace
}  // namespace tessera::sort::avx512
