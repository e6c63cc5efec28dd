#include <vector>

#include "kernels/sort/cuda.hpp"

namespace tessera::sort {

std::vector<Variant> cuda_rows() { return {}; }
std::vector<machine::DeviceFunction> device_functions() { return {}; }

}  // namespace tessera::sort
