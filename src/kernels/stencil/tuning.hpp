#pragma once
// Sizes of this machine's caches, and what follows from them.

#include "kernels/stencil/sweep.hpp"

namespace tessera::stencil {

struct Caches {
  index_t l2, l3;  ///< bytes: of a core, of the cores that share one
};
[[nodiscard]] Caches caches();

/// Whether both levels and the terms stay in the last cache from step to step.
template <class T>
[[nodiscard]] bool fits_in_cache(const Sweep<T>& sweep) {
  const index_t fields = 2 + sweep.terms.count();
  return fields * sweep.extent().volume() * static_cast<index_t>(sizeof(T)) <= caches().l3 * 3 / 4;
}

}  // namespace tessera::stencil
