#pragma once
// Masked operations on vectors of 32- or 64-bit words. AVX-512 only.

#include "base/simd/tail.hpp"

namespace tessera::inline v1::simd {
namespace {

template <class V>
inline constexpr bool is_of_words32 = sizeof(Element<V>) == 4;

/// Returns the mask of lanes [0, n): all lanes if n exceeds their number, none if n is negative.
template <class V>
TESSERA_INLINE Mask<V> first_lanes(index_t n) {
  if (n >= lanes_of<V>) return static_cast<Mask<V>>(~0U);
  return n <= 0 ? Mask<V>{0} : static_cast<Mask<V>>((1U << n) - 1);
}

/// Returns b in the lanes of m and a in the others. The intrinsic matches the lane type: only then
/// does the compiler fuse it with the instruction that produces b.
template <class V>
TESSERA_INLINE V blend(Mask<V> m, V a, V b) {
  if constexpr (std::is_same_v<Element<V>, double>)
    return _mm512_mask_blend_pd(m, a, b);
  else if constexpr (std::is_same_v<Element<V>, float>)
    return _mm512_mask_blend_ps(m, a, b);
  else if constexpr (is_of_words32<V>)
    return reinterpret_cast<V>(
        _mm512_mask_blend_epi32(m, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
  else
    return reinterpret_cast<V>(
        _mm512_mask_blend_epi64(m, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}

/// Returns the lanes with a < b, as unsigned words.
template <class V>
TESSERA_INLINE Mask<V> less(V a, V b) {
  const auto x = reinterpret_cast<__m512i>(a), y = reinterpret_cast<__m512i>(b);
  if constexpr (is_of_words32<V>)
    return _mm512_cmplt_epu32_mask(x, y);
  else
    return _mm512_cmplt_epu64_mask(x, y);
}

/// Returns the lanes of m with a <= b, as unsigned words.
template <class V>
TESSERA_INLINE Mask<V> less_equal(Mask<V> m, V a, V b) {
  const auto x = reinterpret_cast<__m512i>(a), y = reinterpret_cast<__m512i>(b);
  if constexpr (is_of_words32<V>)
    return _mm512_mask_cmple_epu32_mask(m, x, y);
  else
    return _mm512_mask_cmple_epu64_mask(m, x, y);
}

/// Loads the lanes of m from memory and takes the others from `otherwise`.
template <class V>
TESSERA_INLINE V load_or(V otherwise, Mask<V> m, const Element<V>* from) {
  const auto other = reinterpret_cast<__m512i>(otherwise);
  if constexpr (is_of_words32<V>)
    return reinterpret_cast<V>(_mm512_mask_loadu_epi32(other, m, from));
  else
    return reinterpret_cast<V>(_mm512_mask_loadu_epi64(other, m, from));
}
template <class V>
TESSERA_INLINE void store_lanes(Element<V>* to, Mask<V> m, V v) {
  const auto x = reinterpret_cast<__m512i>(v);
  if constexpr (is_of_words32<V>)
    return _mm512_mask_storeu_epi32(to, m, x);
  else
    _mm512_mask_storeu_epi64(to, m, x);
}
/// Stores the lanes of m contiguously.
template <class V>
TESSERA_INLINE void store_compressed(Element<V>* to, Mask<V> m, V v) {
  const auto x = reinterpret_cast<__m512i>(v);
  if constexpr (is_of_words32<V>)
    return _mm512_mask_compressstoreu_epi32(to, m, x);
  else
    _mm512_mask_compressstoreu_epi64(to, m, x);
}

/// Stores the lower 16 bits of the lanes of m, and the lower 32 bits of all lanes, contiguously.
template <class V>
TESSERA_INLINE void store_as_u16(std::uint16_t* to, Mask<V> m, V v) {
  const auto x = reinterpret_cast<__m512i>(v);
  if constexpr (is_of_words32<V>)
    _mm256_mask_storeu_epi16(to, m, _mm512_maskz_cvtepi32_epi16(0xffff, x));
  else
    _mm_mask_storeu_epi16(to, m, _mm512_maskz_cvtepi64_epi16(0xff, x));
}
template <class V>
TESSERA_INLINE void store_as_u32(std::uint32_t* to, V v) {
  const auto x = reinterpret_cast<__m512i>(v);
  if constexpr (is_of_words32<V>)
    _mm512_storeu_si512(to, x);
  else
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi64_epi32(0xff, x));
}

/// Shifts every lane by its own count; a count that is negative or too large yields 0.
template <class V>
TESSERA_INLINE V shift_right(V v, V counts) {
  const auto x = reinterpret_cast<__m512i>(v), y = reinterpret_cast<__m512i>(counts);
  if constexpr (is_of_words32<V>)
    return reinterpret_cast<V>(_mm512_srlv_epi32(x, y));
  else
    return reinterpret_cast<V>(_mm512_srlv_epi64(x, y));
}
template <class V>
TESSERA_INLINE V shift_left(V v, V counts) {
  const auto x = reinterpret_cast<__m512i>(v), y = reinterpret_cast<__m512i>(counts);
  if constexpr (is_of_words32<V>)
    return reinterpret_cast<V>(_mm512_sllv_epi32(x, y));
  else
    return reinterpret_cast<V>(_mm512_sllv_epi64(x, y));
}
template <class V>
TESSERA_INLINE V leading_zeros(V v) {
  const auto x = reinterpret_cast<__m512i>(v);
  if constexpr (is_of_words32<V>)
    return reinterpret_cast<V>(_mm512_lzcnt_epi32(x));
  else
    return reinterpret_cast<V>(_mm512_lzcnt_epi64(x));
}

}  // namespace
}  // namespace tessera::inline v1::simd
