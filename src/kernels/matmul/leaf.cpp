// Dispatch from an instruction set to the leaf kernels compiled for it.

#include "kernels/matmul/leaf.hpp"

#include "kernels/matmul/checksum_leaf.hpp"

#define TESSERA_DECLARE(isa)                                       \
  namespace tessera::inline v1::isa {                              \
  const matmul::LeafKernels<float>& leaf_kernels_f32();            \
  const matmul::LeafKernels<double>& leaf_kernels_f64();           \
  const matmul::LeafKernels<Complex<float>>& leaf_kernels_c64();   \
  const matmul::LeafKernels<Complex<double>>& leaf_kernels_c128(); \
  const matmul::HalfKernels<Half>& half_kernels_f16();             \
  const matmul::HalfKernels<BFloat16>& half_kernels_bf16();        \
  const matmul::ChecksumKernels<float>& checksum_kernels_f32();    \
  const matmul::ChecksumKernels<double>& checksum_kernels_f64();   \
  }

TESSERA_DECLARE(baseline)
TESSERA_DECLARE(bits256)
TESSERA_DECLARE(bits512)
#undef TESSERA_DECLARE

namespace tessera::inline v1::matmul {

template <>
const LeafKernels<float>& leaf_kernels(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, leaf_kernels_f32)();
}
template <>
const LeafKernels<double>& leaf_kernels(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, leaf_kernels_f64)();
}
template <>
const LeafKernels<Complex<float>>& leaf_kernels(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, leaf_kernels_c64)();
}
template <>
const LeafKernels<Complex<double>>& leaf_kernels(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, leaf_kernels_c128)();
}
template <>
const HalfKernels<Half>& half_kernels(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, half_kernels_f16)();
}
template <>
const HalfKernels<BFloat16>& half_kernels(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, half_kernels_bf16)();
}
template <>
const ChecksumKernels<float>& checksum_kernels(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, checksum_kernels_f32)();
}
template <>
const ChecksumKernels<double>& checksum_kernels(machine::Isa isa) {
  return TESSERA_OF_ISA(isa, checksum_kernels_f64)();
}

}  // namespace tessera::inline v1::matmul
