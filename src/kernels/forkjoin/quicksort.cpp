// The quicksort probe of the task runtime.

#include "kernels/forkjoin/quicksort.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> quicksort(index_t n, index_t threshold) {
  return std::make_unique<Quicksort<std::uint64_t>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
