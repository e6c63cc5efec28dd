#pragma once
// Vectors of the instruction set a file is compiled for. Include only from files given to
// tessera_isa_source, inside nothing: everything is in an unnamed namespace, so that no two sets
// share a symbol.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/half.hpp"

namespace tessera::stencil {
namespace {

#if defined(__AVX512F__)

// g++ 12 warns of uninitialised values inside the unmasked forms of some intrinsics (its bug
// 105593); a mask of ones costs nothing.
constexpr __mmask16 all_lanes32 = 0xffff;
constexpr __mmask8 all_lanes64 = 0xff;

template <class T>
struct Vec;
template <>
struct Vec<float> {
  using type = __m512;
  static constexpr int lanes = 16;
  static type load(const float* p) { return _mm512_loadu_ps(p); }
  static type all(float x) { return _mm512_set1_ps(x); }
  static type fma(type a, type b, type c) { return _mm512_fmadd_ps(a, b, c); }
  static void store(float* p, type v) { _mm512_storeu_ps(p, v); }
  static void stream(float* p, type v) { _mm512_stream_ps(p, v); }
  static void store_lanes(float* p, type v, index_t from, index_t to) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << to) - (1U << from)), v);
  }
  /// Lanes k.. of a, then the first k of b.
  template <int k>
  static type shift(type a, type b) {
    return _mm512_castsi512_ps(
        _mm512_maskz_alignr_epi32(all_lanes32, _mm512_castps_si512(b), _mm512_castps_si512(a), k));
  }
};
template <>
struct Vec<double> {
  using type = __m512d;
  static constexpr int lanes = 8;
  static type load(const double* p) { return _mm512_loadu_pd(p); }
  static type all(double x) { return _mm512_set1_pd(x); }
  static type fma(type a, type b, type c) { return _mm512_fmadd_pd(a, b, c); }
  static void store(double* p, type v) { _mm512_storeu_pd(p, v); }
  static void stream(double* p, type v) { _mm512_stream_pd(p, v); }
  static void store_lanes(double* p, type v, index_t from, index_t to) {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1U << to) - (1U << from)), v);
  }
  template <int k>
  static type shift(type a, type b) {
    return _mm512_castsi512_pd(
        _mm512_maskz_alignr_epi64(all_lanes64, _mm512_castpd_si512(b), _mm512_castpd_si512(a), k));
  }
};
/// Kept in 16 bits, a float in registers.
template <>
struct Vec<Half> : Vec<float> {
  static __m256i narrow(type v) {
    return _mm512_maskz_cvtps_ph(all_lanes32, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static type load(const Half* p) {
    return _mm512_maskz_cvtph_ps(all_lanes32,
                                 _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void store(Half* p, type v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow(v));
  }
  static void stream(Half* p, type v) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), narrow(v));
  }
  static void store_lanes(Half* p, type v, index_t from, index_t to) {
    _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1U << to) - (1U << from)), narrow(v));
  }
};
/// One of them.
[[gnu::always_inline]] inline float widened(const Half& x) { return _cvtsh_ss(x.bits); }
[[gnu::always_inline]] inline void put_narrowed(Half& to, float x) {
  const __m128i one = _mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT);
  to.bits = static_cast<std::uint16_t>(_mm_extract_epi16(one, 0));
}
constexpr int jam = 4;  // rows at once: 32 registers hold three vectors of each, sums and weights
constexpr bool shifts_are_cheap = true;  // a load at x +- 1 always crosses a line: twice the cost
inline void fence() { _mm_sfence(); }

#elif defined(__AVX2__)

template <class T>
struct Vec;
template <>
struct Vec<float> {
  using type = __m256;
  static constexpr int lanes = 8;
  static type load(const float* p) { return _mm256_loadu_ps(p); }
  static type all(float x) { return _mm256_set1_ps(x); }
  static type fma(type a, type b, type c) { return _mm256_fmadd_ps(a, b, c); }
  static void store(float* p, type v) { _mm256_storeu_ps(p, v); }
  static void stream(float* p, type v) { _mm256_stream_ps(p, v); }
  static void store_lanes(float* p, type v, index_t from, index_t to) {
    for (index_t i = from; i < to; ++i) p[i] = v[i];
  }
};
template <>
struct Vec<double> {
  using type = __m256d;
  static constexpr int lanes = 4;
  static type load(const double* p) { return _mm256_loadu_pd(p); }
  static type all(double x) { return _mm256_set1_pd(x); }
  static type fma(type a, type b, type c) { return _mm256_fmadd_pd(a, b, c); }
  static void store(double* p, type v) { _mm256_storeu_pd(p, v); }
  static void stream(double* p, type v) { _mm256_stream_pd(p, v); }
  static void store_lanes(double* p, type v, index_t from, index_t to) {
    for (index_t i = from; i < to; ++i) p[i] = v[i];
  }
};
/// Kept in 16 bits, a float in registers.
template <>
struct Vec<Half> : Vec<float> {
  static __m128i narrow(type v) { return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT); }
  static type load(const Half* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void store(Half* p, type v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), narrow(v)); }
  static void stream(Half* p, type v) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), narrow(v));
  }
  static void store_lanes(Half* p, type v, index_t from, index_t to) {
    Half all[lanes];
    store(all, v);
    for (index_t i = from; i < to; ++i) p[i].bits = all[i].bits;
  }
};
/// One of them.
[[gnu::always_inline]] inline float widened(const Half& x) { return _cvtsh_ss(x.bits); }
[[gnu::always_inline]] inline void put_narrowed(Half& to, float x) {
  const __m128i one = _mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT);
  to.bits = static_cast<std::uint16_t>(_mm_extract_epi16(one, 0));
}
constexpr int jam = 2;
constexpr bool shifts_are_cheap = false;
inline void fence() { _mm_sfence(); }

#else

/// 16 bytes by the compiler's vector extension: SSE2, NEON or plain code. fma is the library's
/// where there is none.
template <class T>
struct Vec {
  typedef T type __attribute__((vector_size(16)));
  static constexpr int lanes = 16 / static_cast<int>(sizeof(T));
  static type load(const T* p) {
    type v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  static type all(T x) { return type{} + x; }
  static type fma(type a, type b, type c) {
    for (int i = 0; i < lanes; ++i) c[i] = fused(a[i], b[i], c[i]);
    return c;
  }
  static void store(T* p, type v) { __builtin_memcpy(p, &v, sizeof v); }
  static void stream(T* p, type v) { store(p, v); }
  static void store_lanes(T* p, type v, index_t from, index_t to) {
    for (index_t i = from; i < to; ++i) p[i] = v[i];
  }

 private:
  static float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
/// Kept in 16 bits, a float in registers.
template <>
struct Vec<Half> : Vec<float> {
  static type load(const Half* p) {
    type v;
    for (int i = 0; i < lanes; ++i) v[i] = half_value(p[i].bits);
    return v;
  }
  static void store(Half* p, type v) { store_lanes(p, v, 0, lanes); }
  static void stream(Half* p, type v) { store(p, v); }
  static void store_lanes(Half* p, type v, index_t from, index_t to) {
    for (index_t i = from; i < to; ++i) p[i].bits = half_bits(v[i]);
  }
};
/// One of them.
[[gnu::always_inline]] inline float widened(const Half& x) { return half_value(x.bits); }
[[gnu::always_inline]] inline void put_narrowed(Half& to, float x) { to.bits = half_bits(x); }
constexpr int jam = 2;
constexpr bool shifts_are_cheap = false;
inline void fence() {}

#endif

/// A value as it is computed with, and one that is kept.
template <class T>
[[gnu::always_inline]] inline const T& widened(const T& x) {
  return x;
}
template <class T>
[[gnu::always_inline]] inline void put_narrowed(T& to, const T& x) {
  to = x;
}

/// The vector k elements right of the one at p (left for k < 0): from its neighbours' registers or
/// from memory.
template <class T, int k>
inline typename Vec<T>::type beside(const T* p, typename Vec<T>::type before,
                                    typename Vec<T>::type here, typename Vec<T>::type after) {
  if constexpr (k == 0) {
    return here;
  } else if constexpr (!shifts_are_cheap) {
    return Vec<T>::load(p + k);
  } else if constexpr (k < 0) {
    return Vec<T>::template shift<Vec<T>::lanes + k>(before, here);
  } else if constexpr (k == Vec<T>::lanes) {
    return after;
  } else {
    return Vec<T>::template shift<k>(here, after);
  }
}

}  // namespace
}  // namespace tessera::stencil
