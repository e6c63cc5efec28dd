// Ends of steps with terms, compiled once for each instruction set: a loop a set of terms, chosen once.

#include "kernels/stencil/term_rows.hpp"

namespace tessera::stencil::TESSERA_ISA {
namespace {

[[gnu::always_inline]] inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
[[gnu::always_inline]] inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <class T, bool coefficients, bool past, bool source, bool mask>
void finish(const TermRow<T>& a) {
  const T *u = a.u, *before = a.past, *k = a.coefficients, *q = a.source, *m = a.mask;
  T* out = a.out;
  const T weight_sum = a.weight_sum, previous = a.previous, factor = a.source_factor;
#pragma omp simd
  for (index_t x = 0; x < a.n; ++x) {
    T v = out[x];
    if constexpr (coefficients) v = fused(k[x], fused(-weight_sum, u[x], v), weight_sum * u[x]);
    if constexpr (past) v = fused(previous, before[x], v);
    if constexpr (source) v = fused(factor, q[x], v);
    if constexpr (mask) v = m[x] == T{0} ? u[x] : v;
    out[x] = v;
  }
}

template <class T, bool coefficients, bool past>
TermKernel<T> kernel(const TermKey& key) {
  if (key.source && key.mask) return finish<T, coefficients, past, true, true>;
  if (key.source) return finish<T, coefficients, past, true, false>;
  return key.mask ? finish<T, coefficients, past, false, true> : finish<T, coefficients, past, false, false>;
}

template <class T>
TermKernel<T> kernel(const TermKey& key) {
  if (!key.coefficients) return kernel<T, false, false>(key);
  return key.past ? kernel<T, true, true>(key) : kernel<T, true, false>(key);
}

}  // namespace

TermKernel<float> term_kernel_f32(const TermKey& key) { return kernel<float>(key); }
TermKernel<double> term_kernel_f64(const TermKey& key) { return kernel<double>(key); }

}  // namespace tessera::stencil::TESSERA_ISA
