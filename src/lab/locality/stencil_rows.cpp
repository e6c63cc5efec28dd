// Row kernels of the stencils on traced elements: the source compiled per instruction set, with
// vectors of 16 bytes that report their loads and stores.

#define TESSERA_ISA traced

#include "lab/locality/traced_simd.hpp"

#include "kernels/stencil/row_choice.hpp"

namespace tessera::inline v1::stencil {

template <>
RowKernel<locality::Traced<double>> row_kernel(const KernelKey& key, machine::Isa) {
  return traced::kernel<locality::Traced<double>>(key);
}

}  // namespace tessera::inline v1::stencil
