#pragma once
// Row kernels for arbitrary taps. Only for row_kernels.cpp.

#include <cstdint>

#include "base/simd/number.hpp"
#include "base/simd/shuffle.hpp"
#include "kernels/stencil/rows.hpp"

// Kernels load whole vectors around a row. Other tasks may be writing some of those lanes, which
// are never used; the sanitizers cannot detect that.
#if defined(__clang__)
#define TESSERA_RACY_LANES __attribute__((no_sanitize("thread", "address")))
#else
#define TESSERA_RACY_LANES
#endif

namespace tessera::inline v1::stencil {
namespace {

using simd::Simd;

// Neighbours along a row come from register shifts, if that takes one instruction: a load at x +- 1
// always crosses a cache line, at twice the cost.
#if defined(__AVX512F__)
constexpr bool shifts_registers = true;
constexpr int jam = 4;  // rows at once: 32 registers hold three vectors of each row, sums and
                        // weights
#else
constexpr bool shifts_registers = false;
constexpr int jam = 2;
#endif

/// Writes the lanes of v that are in [0, n) to out[x ...].
template <class T, bool through>
[[gnu::always_inline]] inline void put(T* out, index_t x, index_t n, typename Simd<T>::vec v) {
  using V = Simd<T>;
  if (x >= 0 && x + V::lanes <= n) {
    if constexpr (through) {
      V::stream(out + x, v);
    } else {
      V::store(out + x, v);
    }
  } else {
    V::store(out + x, v, x < 0 ? -x : 0, n - x < V::lanes ? n - x : V::lanes);
  }
}

/// Returns the number of elements from the vector boundary at or below out to out.
template <class T>
index_t lead(const T* out) {
  return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(out) / sizeof(T)) &
         (Simd<T>::lanes - 1);
}

/// The kernel for arbitrary taps: the sums of some adjacent vectors stay in registers, with the
/// loop over the taps inside.
template <class T, Rule rule, bool previous, bool through>
struct Chain {
  using V = Simd<T>;
  using Type = typename V::vec;

  template <int vectors>
  [[gnu::always_inline]] static void block(const Taps<T>& taps, const T* in, T* out, index_t x,
                                           index_t n) {
    Type sums[vectors];
    const Type first = V::broadcast(taps.weight[0]);
    for (int i = 0; i < vectors; ++i)
      sums[i] = first * V::load(in + taps.offset[0] + x + i * V::lanes);
    for (index_t k = 1; k < taps.count; ++k) {
      const Type weight = V::broadcast(taps.weight[k]);
      const T* u = in + taps.offset[k] + x;
      for (int i = 0; i < vectors; ++i)
        sums[i] = V::fma(weight, V::load(u + i * V::lanes), sums[i]);
    }
    for (int i = 0; i < vectors; ++i) {
      if constexpr (previous)
        sums[i] = V::fma(V::broadcast(taps.previous), V::load(out + x + i * V::lanes), sums[i]);
      if constexpr (rule == Rule::life) sums[i] = alive(sums[i]);
      put<T, through>(out, x + i * V::lanes, n, sums[i]);
    }
  }

  [[gnu::always_inline]] static Type alive(Type sum) {
    using A = Arithmetic<T>;
    const auto stays =
        (sum == V::broadcast(A{3})) | (sum == V::broadcast(A{11})) | (sum == V::broadcast(A{12}));
    return stays ? V::broadcast(A{1}) : V::broadcast(A{0});
  }

  TESSERA_RACY_LANES static void row(const Taps<T>& taps, const T* in, T* out, index_t n) {
    constexpr int vectors = 8;
    index_t x = -lead(out);
    for (; x < 0 && x < n; x += V::lanes) block<1>(taps, in, out, x, n);
    for (; x + vectors * V::lanes <= n; x += vectors * V::lanes)
      block<vectors>(taps, in, out, x, n);
    for (; x < n; x += V::lanes) block<1>(taps, in, out, x, n);
  }

  static void run(const Taps<T>& taps, const Rows<T>& a) {
    for (index_t z = 0; z < a.planes; ++z) {
      for (index_t y = 0; y < a.rows; ++y) {
        const index_t at = z * a.stride_z + y * a.stride_y;
        row(taps, a.in + at, a.out + at, a.n);
      }
    }
    if constexpr (through) simd::fence_streams();
  }
};

template <class T, Rule rule>
RowKernel<T> chain_kernel(const KernelKey& key) {
  if (key.previous) return Chain<T, rule, true, false>::run;
  return key.stores == Stores::through ? Chain<T, rule, false, true>::run
                                       : Chain<T, rule, false, false>::run;
}

}  // namespace
}  // namespace tessera::inline v1::stencil
