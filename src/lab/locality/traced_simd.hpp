#pragma once
// Vectors of TESSERA_TRACED_BYTES bytes that report their loads and stores. Only for
// matmul_leaf.hpp and stencil_rows.cpp.

#ifndef TESSERA_TRACED_BYTES
#define TESSERA_TRACED_BYTES 16
#endif

#include "base/simd/number.hpp"
#include "lab/locality/lanes.hpp"
#include "lab/locality/traced.hpp"

namespace tessera::inline v1::simd {
namespace {

template <class T>
struct Simd<locality::Traced<T>> {
  using Element = locality::Traced<T>;
  static constexpr index_t lanes = TESSERA_TRACED_BYTES / static_cast<index_t>(sizeof(T));
  static constexpr int registers = TESSERA_TRACED_BYTES == 64 ? 32 : 16;
  using vec = locality::Lanes<T, lanes>;

  static vec zero() { return vec{}; }
  /// Broadcasts a value; not reported, as those values stay in registers.
  static vec broadcast(const Element& x) {
    vec v;
    for (T& lane : v.at) lane = x.raw();
    return v;
  }
  static vec broadcast(const Element* p) { return broadcast(Element(*p)); }
  static vec load(const Element* p) { return load(p, lanes); }
  static vec load(const Element* p, index_t n) {
    locality::report(locality::Access::Kind::load, p,
                     static_cast<unsigned>(n * index_t{sizeof(T)}));
    vec v{};
    for (index_t i = 0; i < n; ++i) v.at[i] = p[i].raw();
    return v;
  }
  static void store(Element* p, const vec& v) { store(p, v, lanes); }
  static void store(Element* p, const vec& v, index_t n) { store(p, v, 0, n); }
  static void store(Element* p, const vec& v, index_t first, index_t last) {
    locality::report(locality::Access::Kind::store, p + first,
                     static_cast<unsigned>((last - first) * index_t{sizeof(T)}));
    for (index_t i = first; i < last; ++i) p[i].raw() = v.at[i];
  }
  static void stream(Element* p, const vec& v) { store(p, v); }
  static vec fma(const vec& a, const vec& b, vec c) {
    for (index_t i = 0; i < lanes; ++i) c.at[i] = std::fma(a.at[i], b.at[i], c.at[i]);
    return c;
  }
  static vec mul_add(const vec& a, const vec& b, const vec& c) { return fma(a, b, c); }
};

}  // namespace
}  // namespace tessera::inline v1::simd
