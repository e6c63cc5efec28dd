// The probe of the breadth-first search.

#include "kernels/forkjoin/bfs.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> bfs(index_t n, index_t threshold) {
  return std::make_unique<Bfs<std::uint32_t>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
