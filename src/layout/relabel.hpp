#pragma once
// Reassignment of blocks to ranks.

#include "layout/matrix_layout.hpp"

namespace tessera::layout {

/// Permutes the boxes of `layout` among the ranks so that as many elements as possible are already
/// at their `home`: the assignment problem, solved exactly in O(P^3) by shortest augmenting paths
/// (Jonker and Volgenant 1987; for layouts: Kabic et al. 2021). Returns `layout` unchanged if
/// nothing is gained.
[[nodiscard]] MatrixLayout relabelled(const MatrixLayout& layout, const MatrixLayout& home);

}  // namespace tessera::layout
