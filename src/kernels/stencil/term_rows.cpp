// Dispatch from an instruction set to its kernels of terms.

#include "kernels/stencil/term_rows.hpp"

namespace tessera::inline v1::stencil {

template <>
TermKernel<float> term_kernel(const TermKey& key, machine::Isa isa) {
  return TESSERA_OF_ISA(isa, term_kernel_f32)(key);
}
template <>
TermKernel<double> term_kernel(const TermKey& key, machine::Isa isa) {
  return TESSERA_OF_ISA(isa, term_kernel_f64)(key);
}

}  // namespace tessera::inline v1::stencil
