#include "kernels/stencil/cuda.hpp"

namespace tessera::stencil {

std::vector<Variant> cuda_rows() { return {}; }
std::vector<machine::DeviceFunction> device_functions() { return {}; }

}  // namespace tessera::stencil
