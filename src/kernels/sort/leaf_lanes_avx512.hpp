#pragma once
// Keys in AVX-512 registers, for leaf_avx512.cpp alone: everything here is local to its object. The
// map of keys, and lanes as whatever the networks compare.

#include <immintrin.h>

#include <type_traits>

#include "kernels/sort/key.hpp"
#include "kernels/sort/leaf.hpp"

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
  /// The lanes of m from b - c, others from a.
  static __m512i sub_or(__m512i a, Mask m, __m512i b, __m512i c) {
    return _mm512_mask_sub_epi64(a, m, b, c);
  }
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
    if constexpr (flips == 7)
      return _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), v);
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
  static __m512i sub_or(__m512i a, Mask m, __m512i b, __m512i c) {
    return _mm512_mask_sub_epi32(a, m, b, c);
  }
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
      return _mm512_permutexvar_epi32(
          _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), v);
    }
  }
};

/// Lanes that are compared as numbers of floating point; the rest is the same.
struct Doubles : Lanes64 {
  static __m512i min(__m512i a, __m512i b) {
    return _mm512_castpd_si512(_mm512_min_pd(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b)));
  }
  static __m512i max(__m512i a, __m512i b) {
    return _mm512_castpd_si512(_mm512_max_pd(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b)));
  }
  static __m512i max_into(__m512i a, Mask m, __m512i b, __m512i c) {
    return _mm512_castpd_si512(_mm512_mask_max_pd(_mm512_castsi512_pd(a), m, _mm512_castsi512_pd(b),
                                                  _mm512_castsi512_pd(c)));
  }
};
struct Floats : Lanes32 {
  static __m512i min(__m512i a, __m512i b) {
    return _mm512_castps_si512(_mm512_min_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
  }
  static __m512i max(__m512i a, __m512i b) {
    return _mm512_castps_si512(_mm512_max_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
  }
  static __m512i max_into(__m512i a, Mask m, __m512i b, __m512i c) {
    return _mm512_castps_si512(_mm512_mask_max_ps(_mm512_castsi512_ps(a), m, _mm512_castsi512_ps(b),
                                                  _mm512_castsi512_ps(c)));
  }
};

template <class B>
using LanesOf = std::conditional_t<sizeof(B) == 4, Lanes32, Lanes64>;
template <class B>
using NumbersOf = std::conditional_t<sizeof(B) == 4, Floats, Doubles>;

/// The mask of the valid ones among `lanes` keys from position `at` of n.
template <class L>
typename L::Mask valid_lanes(index_t n, index_t at) {
  const index_t left = n - at;
  if (left >= L::lanes) return static_cast<typename L::Mask>(~0u);
  return left <= 0 ? typename L::Mask{0} : static_cast<typename L::Mask>((1u << left) - 1);
}

/// The way back where it is a line: raw = (x ^ flip) + add for x = bits - from, on bits of one
/// part.
///
/// There x is compared as a floating-point number: a processor may have two units for the least of
/// those where it has one for integers (Intel's: 0.18 ns a vector of doubles, 0.34 of integers).
/// From the least normal number on, up to the greatest finite one, positive numbers are in the
/// order of their bits.
template <class B>
struct Line {
  bool exists = false;
  B from = 0, flip = 0, add = 0;
};
template <class B>
constexpr B least_normal = B{1} << (sizeof(B) == 8 ? 52 : 23);
template <class B>
constexpr B greatest_finite =
    static_cast<B>((sizeof(B) == 8 ? std::uint64_t{0x7ff} << 52 : std::uint64_t{0xff} << 23) - 1);

template <class B>
Line<B> line(const KeyMap<B>& map, Bounds<B> bounds) {
  if (static_cast<B>(bounds.high - bounds.low) > greatest_finite<B> - least_normal<B>) return {};
  Line<B> its{.exists = true, .from = static_cast<B>(bounds.low - least_normal<B>)};
  if (map.identity()) {
    its.add = its.from;
    return its;
  }
  if (map.mirrored != 0 && bounds.high > map.top) return {};
  // Of one sign, and no step between.
  const B low =
      static_cast<B>((map.mirrored != 0 ? map.top - bounds.high : bounds.low) + map.offset);
  const B high =
      static_cast<B>((map.mirrored != 0 ? map.top - bounds.low : bounds.high) + map.offset);
  constexpr B sign = B{1} << (8 * sizeof(B) - 1);
  if (low > high || (map.spread != 0 && ((low ^ high) & sign) != 0)) return {};
  const B first = map.to_raw(bounds.low);
  const bool down = bounds.low != bounds.high &&
                    map.to_raw(static_cast<B>(bounds.low + 1)) != static_cast<B>(first + 1);
  its.flip = down ? static_cast<B>(~B{0}) : B{0};
  its.add = static_cast<B>(first - (least_normal<B> ^ its.flip));
  return its;
}

/// Keys into registers and back. Those that are not there come last.
template <class B>
class ByMap {
  using L = LanesOf<B>;

 public:
  explicit ByMap(const Map<B>& map) : map_(map) {}
  [[nodiscard]] __m512i load(const B* from, typename L::Mask valid) const {
    return L::load(from, valid);
  }
  [[nodiscard]] __m512i to_raw(__m512i v) const { return map_.to_raw(v); }

 private:
  const Map<B>& map_;
};
template <class B>
class ByLine {
  using L = LanesOf<B>;

 public:
  explicit ByLine(const Line<B>& line)
      : from_(L::all(line.from)), flip_(L::all(line.flip)), add_(L::all(line.add)) {}
  [[nodiscard]] __m512i load(const B* from, typename L::Mask valid) const {
    return L::sub_or(L::all(greatest_finite<B>), valid, L::load(from, valid), from_);
  }
  [[nodiscard]] __m512i to_raw(__m512i v) const { return L::add(_mm512_xor_si512(v, flip_), add_); }

 private:
  __m512i from_, flip_, add_;
};

}  // namespace
}  // namespace tessera::sort::avx512
