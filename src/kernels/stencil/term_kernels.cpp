// The final part of steps with terms, compiled once per instruction set: one loop per set of terms,
// selected once.

#include "kernels/stencil/term_rows.hpp"

namespace tessera::inline v1::stencil::TESSERA_ISA {
namespace {

[[gnu::always_inline]] inline float fused(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
[[gnu::always_inline]] inline double fused(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

template <class T, bool coefficients, bool past, bool source, bool mask, bool walls>
void finish(const TermRow<T>& a) {
  const T *u = a.u, *before = a.past, *k = a.coefficients, *q = a.source, *m = a.mask, *d = a.walls;
  T* out = a.out;
  const T weight_sum = a.weight_sum, previous = a.previous, factor = a.source_factor;
#pragma omp simd
  for (index_t x = 0; x < a.n; ++x) {
    T v = out[x];
    if constexpr (walls) v = fused(d[x], u[x], v);
    if constexpr (coefficients) v = fused(k[x], fused(-weight_sum, u[x], v), weight_sum * u[x]);
    if constexpr (past) v = fused(previous, before[x], v);
    if constexpr (source) v = fused(factor, q[x], v);
    if constexpr (mask) v = m[x] == T{0} ? u[x] : v;
    if constexpr (walls) v = __builtin_isnan(d[x]) ? u[x] : v;
    out[x] = v;
  }
}

/// Selects finish() by the key's members, one after the other.
template <class T, bool... chosen>
TermKernel<T> kernel(const TermKey& key) {
  constexpr std::size_t next = sizeof...(chosen);
  if constexpr (next == 5) {
    return finish<T, chosen...>;
  } else {
    const bool keys[]{key.coefficients, key.past, key.source, key.mask, key.walls};
    return keys[next] ? kernel<T, chosen..., true>(key) : kernel<T, chosen..., false>(key);
  }
}

}  // namespace

TermKernel<float> term_kernel_f32(const TermKey& key) { return kernel<float>(key); }
TermKernel<double> term_kernel_f64(const TermKey& key) { return kernel<double>(key); }

}  // namespace tessera::inline v1::stencil::TESSERA_ISA
