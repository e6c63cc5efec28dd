#pragma once
// The reference from outside: OpenBLAS, looked for when somebody asks for it. Builds need neither
// its header nor the library, and programs do not start its threads, one for every core, without
// need.

#include <string>

#include "kernels/matmul/variants.hpp"

namespace tessera::matmul {

/// Why there is no such library here (libopenblas.so.0, where the system looks for libraries); ""
/// where there is one. Loads it. Throws Error(memory) where the address space is limited to less
/// than it needs.
[[nodiscard]] const std::string& blas_missing();

[[nodiscard]] Variant blas_row();

}  // namespace tessera::matmul
