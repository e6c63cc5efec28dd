// Instantiations of the plain leaf kernels for keys.

#include "kernels/sort/leaf_plain.hpp"

namespace tessera::inline v1::sort::baseline {

const LeafKernels<std::uint32_t> leaf_kernels32 = plain::kernels<std::uint32_t>();
const LeafKernels<std::uint64_t> leaf_kernels64 = plain::kernels<std::uint64_t>();

}  // namespace tessera::inline v1::sort::baseline
