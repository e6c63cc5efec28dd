#pragma once
// Tensor maps: descriptors of matrices for box reads by the tensor memory accelerator (compute
// capability 9.0 on).

#include <cuda.h>

#include <cstdint>

#include "base/view.hpp"

namespace tessera::inline v1::machine::cuda {

/// The row length of boxes in shared memory; the 16-byte chunk c of row r is stored at chunk c ^ (r
/// % 8).
inline constexpr int swizzle_bytes = 128;

/// Conversion of floats during the copy.
enum class Rounding { none, tf32 };

/// Returns a map for boxes of (rows, cols) elements of x (T: double, float, __nv_bfloat16, __half,
/// uint8_t); elements outside x read as zero. Preconditions: cols elements are swizzle_bytes, rows
/// <= 256. Throws Error(internal) if the driver refuses.
template <class T>
[[nodiscard]] CUtensorMap tensor_map(const MatrixView<const T>& x, int rows, int cols,
                                     Rounding rounding = Rounding::none);

/// Returns whether x can have a map: rows begin at multiples of 16 bytes, and x is not empty.
template <class T>
[[nodiscard]] bool fits_tensor_map(const MatrixView<const T>& x) {
  return !x.empty() && x.ld * static_cast<index_t>(sizeof(T)) % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

}  // namespace tessera::inline v1::machine::cuda
