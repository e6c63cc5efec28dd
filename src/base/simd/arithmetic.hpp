#pragma once
// Arithmetic beyond the operators: fused multiply-add, minimum and maximum, magnitudes, products of
// half words.

#include "base/simd/vector.hpp"

namespace tessera::inline v1::simd {
namespace {

TESSERA_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TESSERA_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

/// Returns a * b + c, rounded once. Without an instruction for it, calls the library's function
/// lane by lane: the same bits everywhere, slowly.
template <class V>
TESSERA_INLINE V fma(V a, V b, V c) {
  [[maybe_unused]] constexpr bool is_double = std::is_same_v<Element<V>, double>;
#if defined(__AVX512F__)
  if constexpr (is_double)
    return _mm512_fmadd_pd(a, b, c);
  else
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  if constexpr (is_double)
    return _mm256_fmadd_pd(a, b, c);
  else
    return _mm256_fmadd_ps(a, b, c);
#else
  for (int i = 0; i < lanes_of<V>; ++i) c[i] = fused(a[i], b[i], c[i]);
  return c;
#endif
}

/// Returns a * b + c by the fastest instructions: rounded once with fused multiply-add, otherwise
/// twice. The bits depend on the instruction set, not on the division of the work.
template <class V>
TESSERA_INLINE V mul_add(V a, V b, V c) {
#if defined(__FMA__) || defined(__aarch64__)
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// Returns c - a * b, rounded as by mul_add.
template <class V>
TESSERA_INLINE V neg_mul_add(V a, V b, V c) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<Element<V>, double>)
    return _mm512_fnmadd_pd(a, b, c);
  else
    return _mm512_fnmadd_ps(a, b, c);
#elif defined(__FMA__)
  if constexpr (std::is_same_v<Element<V>, double>)
    return _mm256_fnmadd_pd(a, b, c);
  else
    return _mm256_fnmadd_ps(a, b, c);
#else
  return mul_add(-a, b, c);
#endif
}

/// Converts every lane to T, in a vector with the same number of lanes.
template <class T, class V>
TESSERA_INLINE auto converted(V v) {
#if defined(__AVX512F__)  // one instruction, where GCC 12 generates two halves
  if constexpr (std::is_same_v<T, double> && std::is_same_v<Element<V>, float> && sizeof v == 32)
    return reinterpret_cast<Vector<double>>(
        _mm512_maskz_cvtps_pd(0xff, reinterpret_cast<__m256>(v)));
  else
#endif
    return __builtin_convertvector(v, Vector<T, lanes_of<V> * index_t{sizeof(T)}>);
}

/// Returns the minimum and the maximum lane by lane; for floating-point lanes, b if either is a
/// NaN.
template <class V>
TESSERA_INLINE V min(V a, V b) {
  return a < b ? a : b;
}
template <class V>
TESSERA_INLINE V max(V a, V b) {
  return a > b ? a : b;
}

/// Clears the sign bit of every lane.
TESSERA_INLINE Vector<double> abs(Vector<double> v) {
  return bits_as<double>(bits_as<std::uint64_t>(v) & (~std::uint64_t{0} >> 1));
}

/// Returns (a mod 2^32) * (b mod 2^32) in every lane.
TESSERA_INLINE Vector<std::uint64_t> mul_low_halves(Vector<std::uint64_t> a,
                                                    Vector<std::uint64_t> b) {
#if defined(__AVX512F__)  // masked, because GCC 12 warns about its unmasked form (bug 105593)
  return reinterpret_cast<Vector<std::uint64_t>>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Vector<std::uint64_t>>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<Vector<std::uint64_t>>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xffffffff) * (b & 0xffffffff);
#endif
}
TESSERA_INLINE std::uint64_t mul_low_halves(std::uint64_t a, std::uint64_t b) {
  return (a & 0xffffffff) * (b & 0xffffffff);
}

}  // namespace
}  // namespace tessera::inline v1::simd
