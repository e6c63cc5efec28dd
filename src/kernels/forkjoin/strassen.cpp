// The probe of the product of Strassen.

#include "kernels/forkjoin/strassen.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> strassen(index_t n, index_t threshold) {
  return std::make_unique<Strassen<double>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
