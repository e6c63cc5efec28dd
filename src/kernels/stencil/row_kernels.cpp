// Row kernels, compiled once per instruction set.

#include "kernels/stencil/row_choice.hpp"

namespace tessera::inline v1::stencil::TESSERA_ISA {

RowKernel<float> row_kernel_f32(const KernelKey& key) { return kernel<float>(key); }
RowKernel<double> row_kernel_f64(const KernelKey& key) { return kernel<double>(key); }
RowKernel<Half> row_kernel_f16(const KernelKey& key) { return kernel<Half>(key); }
RowKernel<BFloat16> row_kernel_bf16(const KernelKey& key) { return kernel<BFloat16>(key); }

}  // namespace tessera::inline v1::stencil::TESSERA_ISA
