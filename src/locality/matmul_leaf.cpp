// The leaf kernels of matmul on traced elements: the source that is compiled for every instruction set, with
// the register block of AVX-512.

#define TESSERA_ISA traced

#include "locality/traced_simd.hpp"
//
#include "kernels/matmul/leaf_kernels.hpp"

namespace tessera::matmul {

template <>
const LeafKernels<locality::Traced<double>>& leaf_kernels(machine::Isa) {
  return traced::kernels<locality::Traced<double>>;
}
template <>
const LeafKernels<locality::Traced<float>>& leaf_kernels(machine::Isa) {
  return traced::kernels<locality::Traced<float>>;
}

}  // namespace tessera::matmul
