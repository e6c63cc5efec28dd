#pragma once
// Simd<T>: the vector operations of kernels that are templates on their element type. Other element
// types specialise it: Half and BFloat16, which are stored in 16 bits, and the traced elements of
// lab/, which report their loads and stores.

#include "base/simd/arithmetic.hpp"
#include "base/simd/half.hpp"
#include "base/simd/tail.hpp"

namespace tessera::inline v1::simd {
namespace {

/// A vector with as many From as a register has T.
template <class T, class From>
using PartOf = Vector<From, vector_bytes * index_t{sizeof(From)} / index_t{sizeof(T)}>;
/// Loads elements of another type as T: a full register, or elements [0, n) with 0 in the other
/// lanes.
template <class T, class From>
TESSERA_INLINE Vector<T> load_as(const From* p) {
  return converted<T>(load<PartOf<T, From>>(p));
}
template <class T, class From>
TESSERA_INLINE Vector<T> load_as(const From* p, index_t n) {
  return converted<T>(load_first<PartOf<T, From>>(p, n));
}

template <class T>
struct Simd {
  using vec = Vector<T>;
  static constexpr index_t lanes = lanes_of<vec>;
  static constexpr int registers = simd::registers;

  TESSERA_INLINE static vec zero() { return vec{}; }
  TESSERA_INLINE static vec broadcast(T x) { return simd::broadcast<vec>(x); }
  TESSERA_INLINE static vec broadcast(const T* p) { return simd::broadcast<vec>(*p); }

  TESSERA_INLINE static vec load(const T* p) { return simd::load<vec>(p); }
  TESSERA_INLINE static void store(T* p, vec v) { simd::store(p, v); }
  /// Stores v with a non-temporal store; p must be aligned to a vector.
  TESSERA_INLINE static void stream(T* p, vec v) { simd::stream(p, v); }

  /// Loads elements [0, n), with 0 in the other lanes.
  TESSERA_INLINE static vec load(const T* p, index_t n) { return load_first<vec>(p, n); }
  TESSERA_INLINE static void store(T* p, vec v, index_t n) { store_between(p, v, 0, n); }
  TESSERA_INLINE static void store(T* p, vec v, index_t first, index_t last) {
    store_between(p, v, first, last);
  }

  TESSERA_INLINE static vec fma(vec a, vec b, vec c) { return simd::fma(a, b, c); }
  TESSERA_INLINE static vec mul_add(vec a, vec b, vec c) { return simd::mul_add(a, b, c); }
  TESSERA_INLINE static vec neg_mul_add(vec a, vec b, vec c) { return simd::neg_mul_add(a, b, c); }
};

/// Halves: stored in 16 bits, vectors of float.
template <class T>
requires is_stored_half<T>
struct Simd<T> : Simd<float> {
  TESSERA_INLINE static vec load(const T* p) { return widen<T>(simd::load<HalfBits>(p)); }
  TESSERA_INLINE static vec load(const T* p, index_t n) {
    return widen<T>(load_halves(&p->bits, n));
  }
  TESSERA_INLINE static void store(T* p, vec v) { simd::store(p, narrow<T>(v)); }
  TESSERA_INLINE static void stream(T* p, vec v) { simd::stream(p, narrow<T>(v)); }
  TESSERA_INLINE static void store(T* p, vec v, index_t first, index_t last) {
    store_between(&p->bits, narrow<T>(v), first, last);
  }
};

}  // namespace
}  // namespace tessera::inline v1::simd
