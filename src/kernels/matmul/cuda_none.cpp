// Builds without CUDA: no device variants of matmul.

#include <vector>

#include "kernels/matmul/cuda.hpp"

namespace tessera::matmul {

std::vector<Variant> cuda_rows() { return {}; }
std::vector<machine::DeviceFunction> device_functions() { return {}; }

}  // namespace tessera::matmul
