#pragma once
// Arithmetic that operators do not say: fused multiply-add, magnitudes, products of half words.

#include "kernels/simd/vector.hpp"

namespace tessera::simd {
namespace {

TESSERA_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TESSERA_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

/// a * b + c, rounded once. By the library's function, lane by lane, where the instruction set has
/// no instruction for it: the same bits everywhere, slowly.
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

/// a * b + c as fast as the instruction set can: rounded once where it has fused multiply-add, else
/// twice. Other bits without it than with it, the same for every division of the work.
template <class V>
TESSERA_INLINE V mul_add(V a, V b, V c) {
#if defined(__FMA__) || defined(__aarch64__)
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// c - a * b in the same way.
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

/// Every lane as a T, in a vector of as many.
template <class T, class V>
TESSERA_INLINE auto converted(V v) {
#if defined(__AVX512F__)  // by one instruction, where GCC 12 makes two halves
  if constexpr (std::is_same_v<T, double> && std::is_same_v<Element<V>, float> && sizeof v == 32)
    return reinterpret_cast<Vector<double>>(
        _mm512_maskz_cvtps_pd(0xff, reinterpret_cast<__m256>(v)));
  else
#endif
    return __builtin_convertvector(v, Vector<T, lanes_of<V> * index_t{sizeof(T)}>);
}

/// Lane by lane; of floating-point numbers b where one of the two is a NaN.
template <class V>
TESSERA_INLINE V min(V a, V b) {
  return a < b ? a : b;
}
template <class V>
TESSERA_INLINE V max(V a, V b) {
  return a > b ? a : b;
}

/// Without the sign bit.
TESSERA_INLINE Vector<double> abs(Vector<double> v) {
  return bits_as<double>(bits_as<std::uint64_t>(v) & (~std::uint64_t{0} >> 1));
}

/// (a mod 2^32) * (b mod 2^32) in every lane.
TESSERA_INLINE Vector<std::uint64_t> mul_low_halves(Vector<std::uint64_t> a,
                                                    Vector<std::uint64_t> b) {
#if defined(__AVX512F__)  // masked: GCC 12 warns of its own unmasked form (bug 105593)
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
}  // namespace tessera::simd
