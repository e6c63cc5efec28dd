#pragma once
// Sorting networks in AVX-512 registers, for leaf_avx512.cpp alone: everything here is local to its object.
//
// Rows are registers, columns are lanes. Columns are sorted by comparing rows; then neighbouring columns are
// merged by bitonic steps (Batcher 1968), lanes first, then rows again, until one sequence runs down the
// columns; the transpose is stored.

#include <immintrin.h>

#include <utility>

#include "kernels/sort/key.hpp"

namespace tessera::sort::avx512 {
namespace {

using Word = long long;

/// KeyMap in registers.
template <class B>
class Map;

template <>
class Map<std::uint64_t> {
 public:
  explicit Map(const KeyMap<std::uint64_t>& map)
      : plain_((map.spread | map.flip | map.offset | map.mirrored) == 0),
        mirrored_(map.mirrored != 0 ? 0xff : 0),
        spread_(wide(map.spread)),
        flip_(wide(map.flip)),
        offset_(wide(map.offset)),
        top_(wide(map.top)) {}

  [[nodiscard]] __m512i to_bits(__m512i raw) const {
    if (plain_) return raw;
    const auto sign = _mm512_and_si512(_mm512_srai_epi64(raw, 63), spread_);
    return mirror(_mm512_sub_epi64(_mm512_xor_si512(_mm512_xor_si512(raw, flip_), sign), offset_));
  }
  [[nodiscard]] __m512i to_raw(__m512i bits) const {
    if (plain_) return bits;
    const auto raw = _mm512_add_epi64(mirror(bits), offset_);
    const auto sign = _mm512_andnot_si512(_mm512_srai_epi64(raw, 63), spread_);
    return _mm512_xor_si512(_mm512_xor_si512(raw, flip_), sign);
  }

 private:
  static __m512i wide(std::uint64_t x) { return _mm512_set1_epi64(static_cast<Word>(x)); }
  [[nodiscard]] __m512i mirror(__m512i bits) const {
    const auto numbers = static_cast<__mmask8>(_mm512_cmple_epu64_mask(bits, top_) & mirrored_);
    return _mm512_mask_sub_epi64(bits, numbers, top_, bits);
  }

  bool plain_;
  __mmask8 mirrored_;
  __m512i spread_, flip_, offset_, top_;
};

template <>
class Map<std::uint32_t> {
 public:
  explicit Map(const KeyMap<std::uint32_t>& map)
      : plain_((map.spread | map.flip | map.offset | map.mirrored) == 0),
        mirrored_(map.mirrored != 0 ? 0xffff : 0),
        spread_(wide(map.spread)),
        flip_(wide(map.flip)),
        offset_(wide(map.offset)),
        top_(wide(map.top)) {}

  [[nodiscard]] __m512i to_bits(__m512i raw) const {
    if (plain_) return raw;
    const auto sign = _mm512_and_si512(_mm512_srai_epi32(raw, 31), spread_);
    return mirror(_mm512_sub_epi32(_mm512_xor_si512(_mm512_xor_si512(raw, flip_), sign), offset_));
  }
  [[nodiscard]] __m512i to_raw(__m512i bits) const {
    if (plain_) return bits;
    const auto raw = _mm512_add_epi32(mirror(bits), offset_);
    const auto sign = _mm512_andnot_si512(_mm512_srai_epi32(raw, 31), spread_);
    return _mm512_xor_si512(_mm512_xor_si512(raw, flip_), sign);
  }

 private:
  static __m512i wide(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  [[nodiscard]] __m512i mirror(__m512i bits) const {
    const auto numbers = static_cast<__mmask16>(_mm512_cmple_epu32_mask(bits, top_) & mirrored_);
    return _mm512_mask_sub_epi32(bits, numbers, top_, bits);
  }

  bool plain_;
  __mmask16 mirrored_;
  __m512i spread_, flip_, offset_, top_;
};

/// What the networks need of eight 64-bit lanes.
struct Lanes64 {
  using B = std::uint64_t;
  static constexpr int lanes = 8;
  using Mask = __mmask8;
  static __m512i load(const B* p, Mask valid) {
    return _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), valid, p);
  }
  static void store(B* p, Mask valid, __m512i v) { _mm512_mask_storeu_epi64(p, valid, v); }
  static void store_u16(std::uint16_t* p, Mask valid, __m512i v) {
    _mm_mask_storeu_epi16(p, valid, _mm512_cvtepi64_epi16(v));
  }
  static void store_u32(std::uint32_t* p, __m512i v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi64_epi32(v));
  }
  static __m512i all(B x) { return _mm512_set1_epi64(static_cast<Word>(x)); }
  static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi64(a, b); }
  static __m512i sub(__m512i a, __m512i b) { return _mm512_sub_epi64(a, b); }
  /// Of the lower halves of lanes.
  static __m512i multiply(__m512i a, __m512i b) { return _mm512_mul_epu32(a, b); }
  static __m512i shift_right(__m512i v, __m128i count) { return _mm512_srl_epi64(v, count); }
  static __m512i shift_left(__m512i v, __m128i count) { return _mm512_sll_epi64(v, count); }
  static __m512i shift_right(__m512i v, unsigned count) { return _mm512_srli_epi64(v, count); }
  static __m512i shift_left(__m512i v, unsigned count) { return _mm512_slli_epi64(v, count); }
  /// By lane; a count that is negative or too large leaves zero.
  static __m512i shift_right(__m512i v, __m512i counts) { return _mm512_srlv_epi64(v, counts); }
  static __m512i shift_left(__m512i v, __m512i counts) { return _mm512_sllv_epi64(v, counts); }
  static __m512i leading_zeros(__m512i v) { return _mm512_lzcnt_epi64(v); }
  static Mask less(__m512i a, __m512i b) { return _mm512_cmplt_epu64_mask(a, b); }
  /// first, p[0], p[1], ...
  static __m512i load_after(B first, const B* p, Mask valid) {
    const auto shifted = _mm512_alignr_epi64(load(p, valid), _mm512_setzero_si512(), 7);
    return _mm512_mask_set1_epi64(shifted, 1, static_cast<Word>(first));
  }
  static B any(__m512i v) { return static_cast<B>(_mm512_reduce_or_epi64(v)); }
  static B every(__m512i v) { return static_cast<B>(_mm512_reduce_and_epi64(v)); }
  static B least(__m512i v) { return _mm512_reduce_min_epu64(v); }
  static B greatest(__m512i v) { return _mm512_reduce_max_epu64(v); }
  static __m512i min(__m512i a, __m512i b) { return _mm512_min_epu64(a, b); }
  static __m512i max(__m512i a, __m512i b) { return _mm512_max_epu64(a, b); }
  /// a, but the lanes of m from max(b, c).
  static __m512i max_into(__m512i a, Mask m, __m512i b, __m512i c) {
    return _mm512_mask_max_epu64(a, m, b, c);
  }
  static __m512i blend(Mask m, __m512i a, __m512i b) { return _mm512_mask_blend_epi64(m, a, b); }
  /// Lane l from lane l ^ flips.
  template <int flips>
  static __m512i exchange(__m512i v) {
    if constexpr (flips == 1) return _mm512_permutex_epi64(v, 0xb1);
    if constexpr (flips == 2) return _mm512_permutex_epi64(v, 0x4e);
    if constexpr (flips == 3) return _mm512_permutex_epi64(v, 0x1b);
    if constexpr (flips == 4) return _mm512_shuffle_i64x2(v, v, 0x4e);
    if constexpr (flips == 7) return _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), v);
  }
};

struct Lanes32 {
  using B = std::uint32_t;
  static constexpr int lanes = 16;
  using Mask = __mmask16;
  static __m512i load(const B* p, Mask valid) {
    return _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), valid, p);
  }
  static void store(B* p, Mask valid, __m512i v) { _mm512_mask_storeu_epi32(p, valid, v); }
  static void store_u16(std::uint16_t* p, Mask valid, __m512i v) {
    _mm256_mask_storeu_epi16(p, valid, _mm512_cvtepi32_epi16(v));
  }
  static void store_u32(std::uint32_t* p, __m512i v) { _mm512_storeu_si512(p, v); }
  static __m512i all(B x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static __m512i add(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
  static __m512i sub(__m512i a, __m512i b) { return _mm512_sub_epi32(a, b); }
  static __m512i multiply(__m512i a, __m512i b) { return _mm512_mullo_epi32(a, b); }
  static __m512i shift_right(__m512i v, __m128i count) { return _mm512_srl_epi32(v, count); }
  static __m512i shift_left(__m512i v, __m128i count) { return _mm512_sll_epi32(v, count); }
  static __m512i shift_right(__m512i v, unsigned count) { return _mm512_srli_epi32(v, count); }
  static __m512i shift_left(__m512i v, unsigned count) { return _mm512_slli_epi32(v, count); }
  static __m512i shift_right(__m512i v, __m512i counts) { return _mm512_srlv_epi32(v, counts); }
  static __m512i shift_left(__m512i v, __m512i counts) { return _mm512_sllv_epi32(v, counts); }
  static __m512i leading_zeros(__m512i v) { return _mm512_lzcnt_epi32(v); }
  static Mask less(__m512i a, __m512i b) { return _mm512_cmplt_epu32_mask(a, b); }
  static __m512i load_after(B first, const B* p, Mask valid) {
    const auto shifted = _mm512_alignr_epi32(load(p, valid), _mm512_setzero_si512(), 15);
    return _mm512_mask_set1_epi32(shifted, 1, static_cast<int>(first));
  }
  static B any(__m512i v) { return static_cast<B>(_mm512_reduce_or_epi32(v)); }
  static B every(__m512i v) { return static_cast<B>(_mm512_reduce_and_epi32(v)); }
  static B least(__m512i v) { return _mm512_reduce_min_epu32(v); }
  static B greatest(__m512i v) { return _mm512_reduce_max_epu32(v); }
  static __m512i min(__m512i a, __m512i b) { return _mm512_min_epu32(a, b); }
  static __m512i max(__m512i a, __m512i b) { return _mm512_max_epu32(a, b); }
  static __m512i max_into(__m512i a, Mask m, __m512i b, __m512i c) {
    return _mm512_mask_max_epu32(a, m, b, c);
  }
  static __m512i blend(Mask m, __m512i a, __m512i b) { return _mm512_mask_blend_epi32(m, a, b); }
  template <int flips>
  static __m512i exchange(__m512i v) {
    if constexpr (flips == 1) return _mm512_shuffle_epi32(v, _MM_PERM_CDAB);
    if constexpr (flips == 2) return _mm512_shuffle_epi32(v, _MM_PERM_BADC);
    if constexpr (flips == 3) return _mm512_shuffle_epi32(v, _MM_PERM_ABCD);
    if constexpr (flips == 4) return _mm512_permutex_epi64(v, 0x4e);
    if constexpr (flips == 7) return _mm512_permutex_epi64(exchange<3>(v), 0x4e);
    if constexpr (flips == 8) return _mm512_shuffle_i64x2(v, v, 0x4e);
    if constexpr (flips == 15) {
      return _mm512_permutexvar_epi32(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                      v);
    }
  }
};

template <class B>
using LanesOf = std::conditional_t<sizeof(B) == 4, Lanes32, Lanes64>;

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

/// The mask of the valid ones among `lanes` keys from position `at` of n.
template <class L>
typename L::Mask valid_lanes(index_t n, index_t at) {
  const index_t left = n - at;
  if (left >= L::lanes) return static_cast<typename L::Mask>(~0u);
  return left <= 0 ? typename L::Mask{0} : static_cast<typename L::Mask>((1u << left) - 1);
}

/// to[0:n] = from[0:n] sorted, as raw keys; n <= rows * lanes. They may be the same memory.
template <class L, int rows>
void sort_registers(const typename L::B* from, typename L::B* to, index_t n, const Map<typename L::B>& map) {
  __m512i v[rows];
  for (int r = 0; r < rows; ++r) {
    v[r] =
        L::load(from + r * L::lanes, valid_lanes<L>(n, r * L::lanes));  // keys that are not there come last
  }
  apply<L>(v, [] { return sorting_network<rows>(); });
  merge_columns<L, rows, 1>(v, std::make_index_sequence<rows / 2>{});
  for (int square = 0; square < rows; square += L::lanes) transpose(L{}, v + square);
  for (int column = 0; column < L::lanes; ++column) {
    for (int part = 0; part < rows; part += L::lanes) {
      const index_t at = column * rows + part;
      L::store(to + at, valid_lanes<L>(n, at), map.to_raw(v[part + column]));
    }
  }
}

/// The same for any n <= network_keys.
template <class B>
void sort_network(const B* from, B* to, index_t n, const Map<B>& map) {
  using L = LanesOf<B>;
  if constexpr (sizeof(B) == 8) {
    if (n <= 8 * L::lanes) {
      sort_registers<L, 8>(from, to, n, map);
      return;
    }
  }
  sort_registers<L, 16>(from, to, n, map);
}

#undef TESSERA_SORT_INLINE

}  // namespace
}  // namespace tessera::sort::avx512
