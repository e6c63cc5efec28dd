#pragma once
// Who gets which block, when that is free to choose.

#include "layout/matrix_layout.hpp"

namespace tessera::layout {

/// The boxes of `layout`, dealt to the ranks anew so that as many elements as possible lie where
/// `home` has them already: the assignment problem, solved exactly in O(P^3) by shortest augmenting
/// paths (Jonker and Volgenant 1987; for layouts: Kabic et al. 2021). Boxes stay with their ranks
/// where nothing is gained.
[[nodiscard]] MatrixLayout relabelled(const MatrixLayout& layout, const MatrixLayout& home);

}  // namespace tessera::layout
