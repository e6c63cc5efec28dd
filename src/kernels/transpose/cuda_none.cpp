// Builds without CUDA: no device variants of transpose.

#include <vector>

#include "kernels/transpose/cuda.hpp"

namespace tessera::transpose {

std::vector<Variant> cuda_rows() { return {}; }
std::span<const LadderRow> ladder() { return {}; }
std::vector<machine::DeviceFunction> device_functions() { return {}; }

}  // namespace tessera::transpose
