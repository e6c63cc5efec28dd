#pragma once
// The reference from outside: blas_cblas.cpp where CMake found a CBLAS, blas_none.cpp elsewhere.

#include <vector>

#include "kernels/matmul/variants.hpp"

namespace tessera::matmul {

/// The rows that this build has for it: one or none.
[[nodiscard]] std::vector<Variant> blas_rows();

}  // namespace tessera::matmul
