// Compiled once for each instruction set (tessera_isa_source): nothing in here may be shared between them.

#include "kernels/matmul/leaf_kernels.hpp"

namespace tessera::TESSERA_ISA {

const LeafKernels<float>& leaf_kernels_f32();
const LeafKernels<double>& leaf_kernels_f64();
const LeafKernels<float>& leaf_kernels_f32() { return kernels<float>; }
const LeafKernels<double>& leaf_kernels_f64() { return kernels<double>; }

}  // namespace tessera::TESSERA_ISA
