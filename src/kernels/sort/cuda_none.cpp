// Builds without CUDA: no device variants of sort.

#include <vector>

#include "kernels/sort/cuda.hpp"
#include "kernels/sort/resident.hpp"

namespace tessera::sort {

std::vector<Variant> cuda_rows() { return {}; }
std::vector<machine::DeviceFunction> device_functions() { return {}; }

const ResidentKernels<std::uint32_t>* resident_kernels(std::uint32_t) { return nullptr; }
const ResidentKernels<std::uint64_t>* resident_kernels(std::uint64_t) { return nullptr; }

}  // namespace tessera::sort
