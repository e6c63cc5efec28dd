// The key of a row kernel, and dispatch to the kernels of an instruction set.

#include "kernels/stencil/rows.hpp"

namespace tessera::inline v1::stencil {

KernelKey kernel_key(const Stencil& stencil, Loops loops, Stores stores) {
  return {loops,
          stores,
          stencil.form,
          stencil.rule,
          stencil.is_full_star(),
          stencil.two_levels(),
          stencil.dims,
          static_cast<int>(stencil.radius[2])};
}

template <>
RowKernel<float> row_kernel(const KernelKey& key, machine::Isa isa) {
  return TESSERA_OF_ISA(isa, row_kernel_f32)(key);
}
template <>
RowKernel<double> row_kernel(const KernelKey& key, machine::Isa isa) {
  return TESSERA_OF_ISA(isa, row_kernel_f64)(key);
}
template <>
RowKernel<Half> row_kernel(const KernelKey& key, machine::Isa isa) {
  return TESSERA_OF_ISA(isa, row_kernel_f16)(key);
}
template <>
RowKernel<BFloat16> row_kernel(const KernelKey& key, machine::Isa isa) {
  return TESSERA_OF_ISA(isa, row_kernel_bf16)(key);
}

}  // namespace tessera::inline v1::stencil
