// Dispatch to the kernels of the best instruction set of this x86-64 processor.

#include "kernels/sort/leaf.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::sort {

template <>
const LeafKernels<std::uint32_t>& leaf_kernels() {
  return machine::of_isa(machine::isa(), baseline::leaf_kernels32, baseline::leaf_kernels32,
                         avx512::leaf_kernels32);
}
template <>
const LeafKernels<std::uint64_t>& leaf_kernels() {
  return machine::of_isa(machine::isa(), baseline::leaf_kernels64, baseline::leaf_kernels64,
                         avx512::leaf_kernels64);
}

}  // namespace tessera::inline v1::sort
