#pragma once
// What follows from the sizes of this machine's caches.

#include "kernels/stencil/sweep.hpp"
#include "machine/topology.hpp"

namespace tessera::stencil {

/// Whether both levels and the terms stay in the last cache from step to step.
template <class T>
[[nodiscard]] bool fits_in_cache(const Sweep<T>& sweep) {
  const index_t fields = 2 + sweep.terms.count();
  return fields * sweep.extent().volume() * static_cast<index_t>(sizeof(T)) <= machine::caches().l3 * 3 / 4;
}

}  // namespace tessera::stencil
