#pragma once
// The external reference: OpenBLAS, loaded on first use. Builds need neither its header nor the
// library, and programs that do not use it do not start its threads, one per core.

#include <string>

#include "kernels/matmul/variants.hpp"

namespace tessera::inline v1::matmul {

/// Loads the library and returns why it is missing (libopenblas.so.0 in the system's search path),
/// or "" if it is present. Throws Error(memory) if the limit of the address space is less than it
/// needs.
[[nodiscard]] const std::string& blas_missing();

[[nodiscard]] Variant blas_row();

}  // namespace tessera::inline v1::matmul
