// The probes of two nested loops.

#include "kernels/forkjoin/loops.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> loops_parallel_inside(index_t n, index_t threshold) {
  return std::make_unique<LoopsInside<std::uint64_t>>(n, threshold);
}

std::unique_ptr<Problem> loops_parallel_outside(index_t n, index_t threshold) {
  return std::make_unique<LoopsOutside<std::uint64_t>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
