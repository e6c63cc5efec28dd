#include <vector>

#include "kernels/sort/cuda.hpp"

namespace tessera::sort {

std::vector<Variant> cuda_rows() { return {}; }

}  // namespace tessera::sort
