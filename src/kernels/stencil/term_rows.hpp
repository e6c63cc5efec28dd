#pragma once
// The end of a step with terms (terms.hpp): a row of sums becomes a row of results, compiled for
// several instruction sets.

#include "base/half.hpp"
#include "kernels/stencil/stencil.hpp"
#include "machine/isa.hpp"

namespace tessera::stencil {

template <class T>
struct TermRow {
  const T* u;             ///< the level before the step
  T* out;                 ///< the sums, then the results
  const T* past;          ///< one level before u, where out does not hold it any more
  const T* coefficients;  ///< these four: where the kernel was chosen for them
  const T* source;
  const T* mask;
  const T* walls;
  Arithmetic<T> weight_sum, previous, source_factor;
  index_t n;
};

template <class T>
using TermKernel = void (*)(const TermRow<T>&);

/// What a kernel is chosen by.
struct TermKey {
  bool coefficients, past, source, mask, walls;  ///< past: only with coefficients or walls
};
template <class T>
[[nodiscard]] TermKernel<T> term_kernel(const TermKey& key, machine::Isa isa);

namespace baseline {
TermKernel<float> term_kernel_f32(const TermKey& key);
TermKernel<double> term_kernel_f64(const TermKey& key);
}  // namespace baseline
namespace avx2 {
TermKernel<float> term_kernel_f32(const TermKey& key);
TermKernel<double> term_kernel_f64(const TermKey& key);
}  // namespace avx2
namespace avx512 {
TermKernel<float> term_kernel_f32(const TermKey& key);
TermKernel<double> term_kernel_f64(const TermKey& key);
}  // namespace avx512

}  // namespace tessera::stencil
