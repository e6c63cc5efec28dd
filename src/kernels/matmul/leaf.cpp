// From an instruction set to the kernels compiled for it.

#include "kernels/matmul/leaf.hpp"

#include "kernels/matmul/checksum_leaf.hpp"

#define TESSERA_DECLARE(isa)                                     \
  namespace tessera::isa {                                       \
  const matmul::LeafKernels<float>& leaf_kernels_f32();          \
  const matmul::LeafKernels<double>& leaf_kernels_f64();         \
  const matmul::ChecksumKernels<float>& checksum_kernels_f32();  \
  const matmul::ChecksumKernels<double>& checksum_kernels_f64(); \
  }

TESSERA_DECLARE(baseline)

#ifdef TESSERA_ONLY_BASELINE

namespace tessera::avx2 {
using namespace baseline;
}
namespace tessera::avx512 {
using namespace baseline;
}

#else

TESSERA_DECLARE(avx2)
TESSERA_DECLARE(avx512)

#endif

namespace tessera::matmul {
namespace {

/// The one of three that `isa` names.
template <class Kernels>
const Kernels& choose(machine::Isa isa, const Kernels& baseline, const Kernels& avx2, const Kernels& avx512) {
  if (isa == machine::Isa::avx512) return avx512;
  return isa == machine::Isa::avx2 ? avx2 : baseline;
}

}  // namespace

template <>
const LeafKernels<float>& leaf_kernels(machine::Isa isa) {
  return choose(isa, baseline::leaf_kernels_f32(), avx2::leaf_kernels_f32(), avx512::leaf_kernels_f32());
}
template <>
const LeafKernels<double>& leaf_kernels(machine::Isa isa) {
  return choose(isa, baseline::leaf_kernels_f64(), avx2::leaf_kernels_f64(), avx512::leaf_kernels_f64());
}
template <>
const ChecksumKernels<float>& checksum_kernels(machine::Isa isa) {
  return choose(isa, baseline::checksum_kernels_f32(), avx2::checksum_kernels_f32(),
                avx512::checksum_kernels_f32());
}
template <>
const ChecksumKernels<double>& checksum_kernels(machine::Isa isa) {
  return choose(isa, baseline::checksum_kernels_f64(), avx2::checksum_kernels_f64(),
                avx512::checksum_kernels_f64());
}

}  // namespace tessera::matmul
