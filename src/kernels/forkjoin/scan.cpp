// The probe of the prefix sums.

#include "kernels/forkjoin/scan.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> scan(index_t n, index_t threshold) {
  return std::make_unique<Scan<std::uint64_t>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
