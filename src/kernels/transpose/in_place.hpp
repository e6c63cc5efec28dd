#pragma once
// Transposes without a second matrix.

#include "kernels/transpose/variants.hpp"

namespace tessera::transpose {

/// m[j, i] and m[i, j] change places; m.rows == m.cols. Scratch: one leaf block a task.
void in_place_square(const Records& m, const Tuning& tuning);

/// The contiguous rows x cols matrix at data becomes the contiguous cols x rows matrix. Scratch: a row of the
/// longer side and a block of columns of the shorter side a thread.
void in_place_rectangle(std::byte* data, index_t rows, index_t cols, index_t bytes, const Tuning& tuning);

}  // namespace tessera::transpose
