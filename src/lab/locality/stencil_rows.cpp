// The row kernels of the stencils on traced elements: the source that is compiled for every
// instruction set, with vectors of 16 bytes that report what they load and store.

#define TESSERA_ISA traced

#include "lab/locality/traced_simd.hpp"

#include "kernels/stencil/row_kernels.cpp"

namespace tessera::stencil {

template <>
RowKernel<locality::Traced<double>> row_kernel(const KernelKey& key, machine::Isa) {
  return traced::kernel<locality::Traced<double>>(key);
}

}  // namespace tessera::stencil
