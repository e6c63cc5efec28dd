#include <vector>

#include "kernels/transpose/cuda.hpp"

namespace tessera::transpose {

std::vector<Variant> cuda_rows() { return {}; }

}  // namespace tessera::transpose
