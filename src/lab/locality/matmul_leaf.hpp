#pragma once
// Leaf kernels of matmul on traced elements: the source compiled per instruction set, in the
// namespace TESSERA_ISA with vectors of TESSERA_TRACED_BYTES. Only for matmul_leaf_*.cpp.

#include "kernels/matmul/leaf_kernels.hpp"
#include "lab/locality/traced_simd.hpp"

namespace tessera::inline v1::TESSERA_ISA {

const LeafKernels<locality::Traced<float>>& leaf_kernels_f32();
const LeafKernels<locality::Traced<double>>& leaf_kernels_f64();

}  // namespace tessera::inline v1::TESSERA_ISA

#define TESSERA_TRACED_LEAF()                                       \
  namespace tessera::inline v1::TESSERA_ISA {                       \
  const LeafKernels<locality::Traced<float>>& leaf_kernels_f32() {  \
    return kernels<locality::Traced<float>>;                        \
  }                                                                 \
  const LeafKernels<locality::Traced<double>>& leaf_kernels_f64() { \
    return kernels<locality::Traced<double>>;                       \
  }                                                                 \
  }                                                                 \
  static_assert(true)
