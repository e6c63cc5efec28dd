// The probe of the LU decomposition.

#include "kernels/forkjoin/lu.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> lu(index_t n, index_t threshold) {
  return std::make_unique<Lu<double>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
