#pragma once
// Tensor maps: how the tensor memory accelerator (compute capability 9.0 on) reads boxes of a
// matrix.

#include <cuda.h>

#include <cstdint>

#include "base/view.hpp"

namespace tessera::machine::cuda {

/// Boxes arrive in shared memory as rows of this many bytes, the 16-byte chunk c of row r at chunk
/// c ^ (r % 8).
inline constexpr int swizzle_bytes = 128;

/// What becomes of floats as they are copied.
enum class Rounding { none, tf32 };

/// A map for boxes of (rows, cols) elements of x (T: double, float, __nv_bfloat16, __half); what
/// lies outside x reads as zero. cols elements are swizzle_bytes, rows at most 256. Throws
/// Error(internal) where the driver refuses.
template <class T>
[[nodiscard]] CUtensorMap tensor_map(const MatrixView<const T>& x, int rows, int cols,
                                     Rounding rounding = Rounding::none);

/// Whether there can be a map: rows begin on 16 bytes, and x is not empty.
template <class T>
[[nodiscard]] bool fits_tensor_map(const MatrixView<const T>& x) {
  return !x.empty() && x.ld * static_cast<index_t>(sizeof(T)) % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

}  // namespace tessera::machine::cuda
