// The probe of the tableau of longest common subsequences.

#include "kernels/forkjoin/tableau.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> tableau(index_t n, index_t threshold) {
  return std::make_unique<Tableau<std::uint32_t>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
