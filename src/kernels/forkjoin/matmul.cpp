// The probes of products.

#include "kernels/forkjoin/matmul.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> matmul_recursive(index_t n, index_t threshold) {
  return std::make_unique<MatmulRecursive<double>>(n, threshold);
}

std::unique_ptr<Problem> matmul_iterative(index_t n, index_t threshold) {
  return std::make_unique<MatmulIterative<double>>(n, threshold);
}

std::unique_ptr<Problem> matmul_temporaries(index_t n, index_t threshold) {
  return std::make_unique<MatmulTemporaries<double>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
