#pragma once
// Validation of layouts that a caller passes.

#include "layout/matrix_layout.hpp"

namespace tessera::inline v1::layout {

/// Throws Error(usage) naming `argument` unless the layout is a home on `ranks` ranks: one box per
/// rank, each inside the matrix, disjoint, and together the whole matrix. O(ranks log ranks).
void require_home(const MatrixLayout& layout, index_t ranks, const char* argument);

}  // namespace tessera::inline v1::layout
