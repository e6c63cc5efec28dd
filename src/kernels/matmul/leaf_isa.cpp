// The leaf kernels of one instruction set. Compiled once per instruction set (tessera_isa_source),
// so the sets must not share symbols.

#include "kernels/matmul/leaf_complex.hpp"
#include "kernels/matmul/leaf_half.hpp"

namespace tessera::inline v1::TESSERA_ISA {

const LeafKernels<float>& leaf_kernels_f32();
const LeafKernels<double>& leaf_kernels_f64();
const LeafKernels<Complex<float>>& leaf_kernels_c64();
const LeafKernels<Complex<double>>& leaf_kernels_c128();
const HalfKernels<Half>& half_kernels_f16();
const HalfKernels<BFloat16>& half_kernels_bf16();
const LeafKernels<float>& leaf_kernels_f32() { return kernels<float>; }
const LeafKernels<double>& leaf_kernels_f64() { return kernels<double>; }
const LeafKernels<Complex<float>>& leaf_kernels_c64() { return complex_kernels<float>; }
const LeafKernels<Complex<double>>& leaf_kernels_c128() { return complex_kernels<double>; }
const HalfKernels<Half>& half_kernels_f16() { return half_kernels<Half>; }
const HalfKernels<BFloat16>& half_kernels_bf16() { return half_kernels<BFloat16>; }

}  // namespace tessera::inline v1::TESSERA_ISA
