#pragma once
// Conversions between IEEE binary16 or bfloat16 in memory and float in registers, for vectors and
// single values.

#include "base/bfloat16.hpp"
#include "base/half.hpp"
#include "base/simd/tail.hpp"

namespace tessera::inline v1::simd {
namespace {

/// A vector with as many halves as a register has floats.
using HalfBits = Vector<std::uint16_t, vector_bytes / 2>;

/// Loads halves [0, n), with 0 in the other lanes; 0 <= n <= lanes.
TESSERA_INLINE HalfBits load_halves(const std::uint16_t* from, index_t n) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  return reinterpret_cast<HalfBits>(_mm256_maskz_loadu_epi16(mask_between<HalfBits>(0, n), from));
#else
  return load_bytes<HalfBits>(from, 2 * n);
#endif
}

/// Converts halves of type T to floats, exactly.
template <class T>
TESSERA_INLINE Vector<float> widen(HalfBits halves) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    using Words = Vector<std::uint32_t>;
    return bits_as<float>(__builtin_convertvector(halves, Words) << 16);
  } else {
#if defined(__AVX512F__)  // masked, because GCC 12 warns about its unmasked form (bug 105593)
    return _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(halves));
#elif defined(__F16C__)
    return _mm256_cvtph_ps(reinterpret_cast<__m128i>(halves));
#else
    // as half_value
    const auto bits = __builtin_convertvector(halves, Vector<int>);
    const auto size = bits & 0x7fff;
    const auto tiny = __builtin_convertvector(size, Vector<float>) * 0x1p-24F;
    const auto finite = size < 0x400 ? bits_as<int>(tiny) : (size << 13) + 0x38000000;
    const auto word = size < 0x7c00 ? finite : 0x7f800000 | (size & 0x3ff) << 13;
    return bits_as<float>(word | (bits & 0x8000) << 16);
#endif
  }
}

/// Rounds floats to the nearest bfloat16, ties to even: the upper halves of their words. Not by
/// instructions of AVX512_BF16, which flush subnormal numbers.
TESSERA_INLINE HalfBits narrow_to_bfloats(Vector<float> v) {
#if defined(__AVX512BW__)
  using Words = Vector<std::uint16_t>;
  const auto word = reinterpret_cast<__m512i>(v);
  const __m512i below = _mm512_set1_epi32(0x7fff), quiet = _mm512_set1_epi32(0x400000);
  const __mmask16 odd = _mm512_test_epi32_mask(word, _mm512_set1_epi32(0x10000));
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  __m512i sum = _mm512_add_epi32(word, below);
  sum = _mm512_mask_add_epi32(sum, odd, sum, _mm512_set1_epi32(1));
  sum = _mm512_mask_or_epi32(sum, nan, word, quiet);
  const auto words = reinterpret_cast<Words>(sum);
  return __builtin_shufflevector(words, words, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27,
                                 29, 31);
#else
  const auto word = bits_as<std::uint32_t>(v);
  const auto rounded = word + 0x7fffU + (word >> 16 & 1U);
  const auto sum = in_register(v == v ? rounded : word | 0x400000U);  // shifted once
  return __builtin_convertvector(sum >> 16, HalfBits);
#endif
}

/// Rounds floats to the nearest halves of type T, ties to even.
template <class T>
TESSERA_INLINE HalfBits narrow(Vector<float> v) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return narrow_to_bfloats(v);
  } else {
#if defined(__AVX512F__)
    return reinterpret_cast<HalfBits>(
        _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
    return reinterpret_cast<HalfBits>(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#else
    // as half_bits
    const auto word = bits_as<int>(v);
    const auto size = word & 0x7fffffff;
    const auto tiny = bits_as<int>(bits_as<float>(size) + 0.5F) - 0x3f000000;
    const auto normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    const auto finite = size < 0x38800000 ? tiny : normal;
    const auto large = size > 0x7f800000 ? 0x7e00 | (size >> 13 & 0x3ff) : 0x7c00;
    const auto half = size < 0x477ff000 ? finite : large;
    return __builtin_convertvector(half | (word >> 16 & 0x8000), HalfBits);
#endif
  }
}

/// Converts one value between its storage type and its arithmetic type.
template <class T>
TESSERA_INLINE const T& widen(const T& x) {
  return x;
}
TESSERA_INLINE float widen(const Half& x) {
#if defined(__F16C__)
  return _cvtsh_ss(x.bits);
#else
  return half_value(x.bits);
#endif
}
template <class T>
TESSERA_INLINE void narrow_to(T& to, const T& x) {
  to = x;
}
TESSERA_INLINE void narrow_to(Half& to, float x) {
#if defined(__F16C__)
  const __m128i one = _mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT);
  to.bits = static_cast<std::uint16_t>(_mm_extract_epi16(one, 0));
#else
  to.bits = half_bits(x);
#endif
}

TESSERA_INLINE float widen(const BFloat16& x) { return bfloat16_value(x.bits); }
TESSERA_INLINE void narrow_to(BFloat16& to, float x) { to.bits = bfloat16_bits(x); }

}  // namespace
}  // namespace tessera::inline v1::simd
