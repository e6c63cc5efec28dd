#pragma once
// Vectors of the instruction set that a file is compiled for: types, loads and stores.
//
// This folder is the vocabulary of all vector code in kernels/: vector (types, memory), tail
// (partial loads and stores), arithmetic, reduce, shuffle, transpose (in registers), half, number
// (Simd<T>, for kernels that are templates on their element type) and mask_avx512. Vectors are
// vector extensions of GCC and Clang, so operators, comparisons and `a < b ? a : b` are the
// compiler's; intrinsics serve where the compiler has no expression or generates worse code.
//
// Everything in this folder has internal linkage, and most functions are always inlined, so sources
// compiled for several instruction sets (tessera_isa_source) share no symbols of it.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/index.hpp"

#ifndef TESSERA_ISA
#define TESSERA_ISA baseline
#endif

#define TESSERA_INLINE [[gnu::always_inline]] inline

namespace tessera::inline v1::simd {
namespace {

#if defined(__AVX512F__)
inline constexpr index_t vector_bytes = 64;
inline constexpr int registers = 32;
#elif defined(__AVX2__)
inline constexpr index_t vector_bytes = 32;
inline constexpr int registers = 16;
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 0  // of one length
inline constexpr index_t vector_bytes = __ARM_FEATURE_SVE_BITS / 8;
inline constexpr int registers = 32;
#elif defined(__aarch64__)
inline constexpr index_t vector_bytes = 16;
inline constexpr int registers = 32;
#else
inline constexpr index_t vector_bytes = 16;  // SSE2 and similar
inline constexpr int registers = 16;
#endif

template <class T, index_t bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
};
/// A vector of T that fills a register of the instruction set, or `bytes` bytes.
template <class T, index_t bytes = vector_bytes>
using Vector = typename VectorOf<T, bytes>::type;

template <class V>
using Element = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;
template <class V>
inline constexpr int lanes_of = static_cast<int>(sizeof(V) / sizeof(Element<V>));

/// Reinterprets the bits of v as elements of another type.
template <class To, class V>
TESSERA_INLINE Vector<To, sizeof(V)> bits_as(V v) {
  return reinterpret_cast<Vector<To, sizeof(V)>>(v);
}

/// Returns x in every lane. (x - 0 is x, also for -0, so this compiles to one broadcast.)
template <class V>
TESSERA_INLINE V broadcast(Element<V> x) {
  return x - V{};
}

/// Loads a vector from any address; store() writes to any address.
template <class V>
TESSERA_INLINE V load(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
TESSERA_INLINE void store(void* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}

/// Stores v with a non-temporal (streaming) store to an address aligned to the vector; with an
/// ordinary store if the instruction set has none.
template <class V>
TESSERA_INLINE void stream(void* to, V v) {
#if defined(__AVX512F__)
  if constexpr (sizeof v == 64)
    return _mm512_stream_si512(static_cast<__m512i*>(to), reinterpret_cast<__m512i>(v));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof v == 32)
    return _mm256_stream_si256(static_cast<__m256i*>(to), reinterpret_cast<__m256i>(v));
#endif
#if defined(__SSE2__)
  if constexpr (sizeof v == 16)
    return _mm_stream_si128(static_cast<__m128i*>(to), reinterpret_cast<__m128i>(v));
#endif
  store(to, v);
}

/// Orders non-temporal stores before all later stores.
TESSERA_INLINE void fence_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#else
  __sync_synchronize();
#endif
}

/// Forces v into a register, so the compiler does not reload it for a second use.
template <class V>
TESSERA_INLINE V in_register(V v) {
#if defined(__SSE2__)
  asm("" : "+v"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#endif
  return v;
}

}  // namespace
}  // namespace tessera::inline v1::simd
