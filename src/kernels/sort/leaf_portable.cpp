// Dispatch on processors without AVX-512: always the plain kernels.

#include "kernels/sort/leaf.hpp"

namespace tessera::inline v1::sort {

template <>
const LeafKernels<std::uint32_t>& leaf_kernels() {
  return baseline::leaf_kernels32;
}
template <>
const LeafKernels<std::uint64_t>& leaf_kernels() {
  return baseline::leaf_kernels64;
}

}  // namespace tessera::inline v1::sort
