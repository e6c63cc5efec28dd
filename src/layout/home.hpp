#pragma once
// Checks of layouts that a caller passes.

#include "layout/matrix_layout.hpp"

namespace tessera::layout {

/// Throws Error(usage) naming `argument` unless the layout is a home on so many ranks: one box a
/// rank, each inside of the matrix, disjoint, and together all of it. O(ranks log ranks).
void require_home(const MatrixLayout& layout, index_t ranks, const char* argument);

}  // namespace tessera::layout
