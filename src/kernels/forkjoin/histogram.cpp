// The probe of the histogram.

#include "kernels/forkjoin/histogram.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> histogram(index_t n, index_t threshold) {
  return std::make_unique<Histogram<std::uint64_t>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
