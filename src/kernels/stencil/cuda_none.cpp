#include "kernels/stencil/cuda.hpp"

namespace tessera::stencil {

std::vector<Variant> cuda_rows() { return {}; }

}  // namespace tessera::stencil
