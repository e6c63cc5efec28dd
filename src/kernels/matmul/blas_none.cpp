#include "kernels/matmul/blas.hpp"

namespace tessera::matmul {

std::vector<Variant> blas_rows() { return {}; }

}  // namespace tessera::matmul
