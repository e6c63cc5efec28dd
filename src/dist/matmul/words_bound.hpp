#pragma once
// The fewest words that a rank must exchange for a product.

#include "base/index.hpp"

namespace tessera::inline v1::dist::matmul {

/// A product m x n x k on `ranks` ranks that hold at most `memory` elements each, operands and
/// result included.
struct WordsProblem {
  index_t m = 0, n = 0, k = 0;
  index_t ranks = 1;
  double memory = 0;
};

/// Returns the elements that at least one rank receives or sends at least, and all ranks in the
/// mean if they multiply equally much: operands that it does not have at home and sums that others
/// keep, that is, all that its products take less its share of the matrices. Independent of memory:
/// Al Daas, Ballard, Grigori, Kumar and Rouse (2022), for all three cases of shapes. Memory of less
/// than (mnk/P)^(2/3) elements S: 2mnk/(P sqrt(S)) + S (Kwasniewski, Kabic, Besta, VandeVondele,
/// Solca and Hoefler 2019, for parallel machines; the constant 2 is that of Smith, Lowery, Langou
/// and van de Geijn 2019 for one memory).
[[nodiscard]] double least_words(const WordsProblem& problem);

}  // namespace tessera::inline v1::dist::matmul
