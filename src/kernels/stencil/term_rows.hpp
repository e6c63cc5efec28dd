#pragma once
// The final part of a step with terms (terms.hpp): turns a row of sums into a row of results;
// compiled for several instruction sets.

#include "base/half.hpp"
#include "kernels/stencil/stencil.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::stencil {

template <class T>
struct TermRow {
  const T* u;             ///< the level before the step
  T* out;                 ///< the sums, then the results
  const T* past;          ///< one level before u, if out no longer holds it
  const T* coefficients;  ///< these four: if the kernel was selected for them
  const T* source;
  const T* mask;
  const T* walls;
  Arithmetic<T> weight_sum, previous, source_factor;
  index_t n;
};

template <class T>
using TermKernel = void (*)(const TermRow<T>&);

/// The key by which a kernel is selected.
struct TermKey {
  bool coefficients, past, source, mask, walls;  ///< past: only with coefficients or walls
};
template <class T>
[[nodiscard]] TermKernel<T> term_kernel(const TermKey& key, machine::Isa isa);

namespace baseline {
TermKernel<float> term_kernel_f32(const TermKey& key);
TermKernel<double> term_kernel_f64(const TermKey& key);
}  // namespace baseline
namespace bits256 {
TermKernel<float> term_kernel_f32(const TermKey& key);
TermKernel<double> term_kernel_f64(const TermKey& key);
}  // namespace bits256
namespace bits512 {
TermKernel<float> term_kernel_f32(const TermKey& key);
TermKernel<double> term_kernel_f64(const TermKey& key);
}  // namespace bits512

}  // namespace tessera::inline v1::stencil
