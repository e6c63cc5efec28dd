#pragma once
// Vectors of the instruction set that this file is compiled for. For files of tessera_isa_source
// only.

#ifndef TESSERA_ISA
#define TESSERA_ISA baseline
#endif

#include "base/index.hpp"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#define TESSERA_INLINE [[gnu::always_inline]] inline

namespace tessera::TESSERA_ISA {

template <class T>
struct Simd;

#if defined(__AVX512F__)

template <>
struct Simd<double> {
  using vec = __m512d;
  static constexpr index_t lanes = 8;
  static constexpr int registers = 32;
  TESSERA_INLINE static vec zero() { return _mm512_setzero_pd(); }
  TESSERA_INLINE static vec broadcast(double x) { return _mm512_set1_pd(x); }
  TESSERA_INLINE static vec load(const double* p) { return _mm512_loadu_pd(p); }
  TESSERA_INLINE static void store(double* p, vec v) { _mm512_storeu_pd(p, v); }
  TESSERA_INLINE static void stream(double* p, vec v) { _mm512_stream_pd(p, v); }
  TESSERA_INLINE static vec fma(vec a, vec b, vec c) { return _mm512_fmadd_pd(a, b, c); }
  TESSERA_INLINE static vec fnma(vec a, vec b, vec c) { return _mm512_fnmadd_pd(a, b, c); }
  TESSERA_INLINE static __mmask8 mask(index_t n) { return static_cast<__mmask8>((1U << n) - 1U); }
  TESSERA_INLINE static vec load(const double* p, index_t n) {
    return _mm512_maskz_loadu_pd(mask(n), p);
  }
  TESSERA_INLINE static void store(double* p, vec v, index_t n) {
    _mm512_mask_storeu_pd(p, mask(n), v);
  }
  TESSERA_INLINE static vec load(const float* p) {
    return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p));
  }
  TESSERA_INLINE static vec load(const float* p, index_t n) {
    return _mm512_maskz_cvtps_pd(0xff, _mm256_maskz_loadu_ps(mask(n), p));
  }
  TESSERA_INLINE static vec abs(vec v) { return _mm512_andnot_pd(_mm512_set1_pd(-0.0), v); }
};

template <>
struct Simd<float> {
  using vec = __m512;
  static constexpr index_t lanes = 16;
  static constexpr int registers = 32;
  TESSERA_INLINE static vec zero() { return _mm512_setzero_ps(); }
  TESSERA_INLINE static vec broadcast(float x) { return _mm512_set1_ps(x); }
  TESSERA_INLINE static vec load(const float* p) { return _mm512_loadu_ps(p); }
  TESSERA_INLINE static void store(float* p, vec v) { _mm512_storeu_ps(p, v); }
  TESSERA_INLINE static void stream(float* p, vec v) { _mm512_stream_ps(p, v); }
  TESSERA_INLINE static vec fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
  TESSERA_INLINE static vec fnma(vec a, vec b, vec c) { return _mm512_fnmadd_ps(a, b, c); }
  TESSERA_INLINE static __mmask16 mask(index_t n) { return static_cast<__mmask16>((1U << n) - 1U); }
  TESSERA_INLINE static vec load(const float* p, index_t n) {
    return _mm512_maskz_loadu_ps(mask(n), p);
  }
  TESSERA_INLINE static void store(float* p, vec v, index_t n) {
    _mm512_mask_storeu_ps(p, mask(n), v);
  }
};

#elif defined(__AVX2__)

template <>
struct Simd<double> {
  using vec = __m256d;
  static constexpr index_t lanes = 4;
  static constexpr int registers = 16;
  TESSERA_INLINE static vec zero() { return _mm256_setzero_pd(); }
  TESSERA_INLINE static vec broadcast(double x) { return _mm256_set1_pd(x); }
  TESSERA_INLINE static vec load(const double* p) { return _mm256_loadu_pd(p); }
  TESSERA_INLINE static void store(double* p, vec v) { _mm256_storeu_pd(p, v); }
  TESSERA_INLINE static void stream(double* p, vec v) { _mm256_stream_pd(p, v); }
  TESSERA_INLINE static vec fma(vec a, vec b, vec c) { return _mm256_fmadd_pd(a, b, c); }
  TESSERA_INLINE static vec fnma(vec a, vec b, vec c) { return _mm256_fnmadd_pd(a, b, c); }
  TESSERA_INLINE static __m256i mask(index_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  TESSERA_INLINE static vec load(const double* p, index_t n) {
    return _mm256_maskload_pd(p, mask(n));
  }
  TESSERA_INLINE static void store(double* p, vec v, index_t n) {
    _mm256_maskstore_pd(p, mask(n), v);
  }
  TESSERA_INLINE static vec load(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  TESSERA_INLINE static vec load(const float* p, index_t n) {
    return _mm256_cvtps_pd(_mm_maskload_ps(
        p, _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(n)), _mm_setr_epi32(0, 1, 2, 3))));
  }
  TESSERA_INLINE static vec abs(vec v) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), v); }
};

template <>
struct Simd<float> {
  using vec = __m256;
  static constexpr index_t lanes = 8;
  static constexpr int registers = 16;
  TESSERA_INLINE static vec zero() { return _mm256_setzero_ps(); }
  TESSERA_INLINE static vec broadcast(float x) { return _mm256_set1_ps(x); }
  TESSERA_INLINE static vec load(const float* p) { return _mm256_loadu_ps(p); }
  TESSERA_INLINE static void store(float* p, vec v) { _mm256_storeu_ps(p, v); }
  TESSERA_INLINE static void stream(float* p, vec v) { _mm256_stream_ps(p, v); }
  TESSERA_INLINE static vec fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
  TESSERA_INLINE static vec fnma(vec a, vec b, vec c) { return _mm256_fnmadd_ps(a, b, c); }
  TESSERA_INLINE static __m256i mask(index_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  TESSERA_INLINE static vec load(const float* p, index_t n) {
    return _mm256_maskload_ps(p, mask(n));
  }
  TESSERA_INLINE static void store(float* p, vec v, index_t n) {
    _mm256_maskstore_ps(p, mask(n), v);
  }
};

#else

// 16 bytes: SSE2, NEON and their like. x86 without FMA multiplies, rounds and adds: other bits than
// the sets above, the same for every split.
template <class T>
struct Simd {
  using vec [[gnu::vector_size(16)]] = T;
  static constexpr index_t lanes = 16 / static_cast<index_t>(sizeof(T));
#if defined(__aarch64__)
  static constexpr int registers = 32;
  TESSERA_INLINE static vec fma(vec a, vec b, vec c) {
    for (index_t i = 0; i < lanes; ++i) c[i] = fused(a[i], b[i], c[i]);
    return c;
  }
  TESSERA_INLINE static double fused(double a, double b, double c) {
    return __builtin_fma(a, b, c);
  }
  TESSERA_INLINE static float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
  static constexpr int registers = 16;
  TESSERA_INLINE static vec fma(vec a, vec b, vec c) { return a * b + c; }
#endif
  TESSERA_INLINE static vec fnma(vec a, vec b, vec c) { return fma(-a, b, c); }  ///< c - a b
  TESSERA_INLINE static vec zero() { return vec{}; }
  TESSERA_INLINE static vec broadcast(T x) {
    vec v{};
    for (index_t i = 0; i < lanes; ++i) v[i] = x;
    return v;
  }
  template <class From>
  TESSERA_INLINE static vec load(const From* p) {
    vec v{};
    for (index_t i = 0; i < lanes; ++i) v[i] = static_cast<T>(p[i]);
    return v;
  }
  TESSERA_INLINE static void store(T* p, vec v) { __builtin_memcpy(p, &v, sizeof v); }
  TESSERA_INLINE static void stream(T* p, vec v) { store(p, v); }
  template <class From>
  TESSERA_INLINE static vec load(const From* p, index_t n) {
    vec v{};
    for (index_t i = 0; i < n; ++i) v[i] = static_cast<T>(p[i]);
    return v;
  }
  TESSERA_INLINE static vec abs(vec v) { return v < vec{} ? -v : v; }
  TESSERA_INLINE static void store(T* p, vec v, index_t n) {
    for (index_t i = 0; i < n; ++i) p[i] = v[i];
  }
};

#endif

/// What was streamed is seen before whatever is written next.
TESSERA_INLINE void fence_streams() {
#if defined(__AVX512F__) || defined(__AVX2__)
  _mm_sfence();
#endif
}

/// The low and high halves of a and b interleaved: a0 b0 a1 b1 ...
template <class V>
TESSERA_INLINE V interleave_low(V a, V b) {
  if constexpr (sizeof(V) / sizeof(a[0]) == 2) {
    return __builtin_shufflevector(a, b, 0, 2);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 4) {
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 8) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  } else {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  }
}
template <class V>
TESSERA_INLINE V interleave_high(V a, V b) {
  if constexpr (sizeof(V) / sizeof(a[0]) == 2) {
    return __builtin_shufflevector(a, b, 1, 3);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 4) {
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 8) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  } else {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
  }
}

/// Every second element of a and then of b, from the first on.
template <class V>
TESSERA_INLINE V evens(V a, V b) {
  if constexpr (sizeof(V) / sizeof(a[0]) == 2) {
    return __builtin_shufflevector(a, b, 0, 2);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 4) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 8) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  } else {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  }
}
/// From the second on.
template <class V>
TESSERA_INLINE V odds(V a, V b) {
  if constexpr (sizeof(V) / sizeof(a[0]) == 2) {
    return __builtin_shufflevector(a, b, 1, 3);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 4) {
    return __builtin_shufflevector(a, b, 1, 3, 5, 7);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 8) {
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
  } else {
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  }
}

/// a1 a0 a3 a2 ...
template <class V>
TESSERA_INLINE V swap_pairs(V a) {
  if constexpr (sizeof(V) / sizeof(a[0]) == 2) {
    return __builtin_shufflevector(a, a, 1, 0);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 4) {
    return __builtin_shufflevector(a, a, 1, 0, 3, 2);
  } else if constexpr (sizeof(V) / sizeof(a[0]) == 8) {
    return __builtin_shufflevector(a, a, 1, 0, 3, 2, 5, 4, 7, 6);
  } else {
    return __builtin_shufflevector(a, a, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  }
}

}  // namespace tessera::TESSERA_ISA
