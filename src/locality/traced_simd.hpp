#pragma once
// Vectors of TESSERA_TRACED_BYTES bytes that report their loads and stores. Only for matmul_leaf.hpp.

#ifndef TESSERA_TRACED_BYTES
#define TESSERA_TRACED_BYTES 16
#endif

#include <cmath>

#include "kernels/simd.hpp"
#include "locality/traced.hpp"

namespace tessera::locality {

/// n numbers at once; arithmetic only, no memory.
template <class T, index_t n>
struct Lanes {
  T at[n];

  friend Lanes operator+(Lanes a, const Lanes& b) {
    for (index_t i = 0; i < n; ++i) a.at[i] += b.at[i];
    return a;
  }
  friend Lanes operator*(Lanes a, const Lanes& b) {
    for (index_t i = 0; i < n; ++i) a.at[i] *= b.at[i];
    return a;
  }
};

template <class T, index_t n>
Lanes<T, n> interleaved(const Lanes<T, n>& a, const Lanes<T, n>& b, index_t from) {
  Lanes<T, n> out;
  for (index_t i = 0; i < n; ++i) out.at[i] = (i % 2 == 0 ? a : b).at[from + i / 2];
  return out;
}
template <class T, index_t n>
Lanes<T, n> interleave_low(Lanes<T, n> a, Lanes<T, n> b) {
  return interleaved(a, b, 0);
}
template <class T, index_t n>
Lanes<T, n> interleave_high(Lanes<T, n> a, Lanes<T, n> b) {
  return interleaved(a, b, n / 2);
}

}  // namespace tessera::locality

namespace tessera::TESSERA_ISA {

template <class T>
struct Simd<locality::Traced<T>> {
  using Element = locality::Traced<T>;
  static constexpr index_t lanes = TESSERA_TRACED_BYTES / static_cast<index_t>(sizeof(T));
  static constexpr int registers = TESSERA_TRACED_BYTES == 64 ? 32 : 16;
  using vec = locality::Lanes<T, lanes>;

  static vec zero() { return vec{}; }
  static vec broadcast(const Element& x) {
    vec v;
    const T value = x.load();
    for (T& lane : v.at) lane = value;
    return v;
  }
  static vec load(const Element* p) { return load(p, lanes); }
  static vec load(const Element* p, index_t n) {
    locality::report(locality::Access::Kind::load, p, static_cast<unsigned>(n * index_t{sizeof(T)}));
    vec v{};
    for (index_t i = 0; i < n; ++i) v.at[i] = p[i].raw();
    return v;
  }
  static void store(Element* p, const vec& v) { store(p, v, lanes); }
  static void store(Element* p, const vec& v, index_t n) {
    locality::report(locality::Access::Kind::store, p, static_cast<unsigned>(n * index_t{sizeof(T)}));
    for (index_t i = 0; i < n; ++i) p[i].raw() = v.at[i];
  }
  static vec fma(const vec& a, const vec& b, vec c) {
    for (index_t i = 0; i < lanes; ++i) c.at[i] = std::fma(a.at[i], b.at[i], c.at[i]);
    return c;
  }
};

}  // namespace tessera::TESSERA_ISA
