#pragma once
// What follows from the sizes of this machine's caches.

#include "kernels/stencil/sweep.hpp"
#include "machine/topology.hpp"

namespace tessera::stencil {

/// Of both levels and the terms.
template <class T>
[[nodiscard]] index_t bytes_of(const Sweep<T>& sweep) {
  return (2 + sweep.terms.count()) * sweep.extent().volume() * static_cast<index_t>(sizeof(T));
}

/// Whether all of it stays in the last cache from step to step.
template <class T>
[[nodiscard]] bool fits_in_cache(const Sweep<T>& sweep) {
  return bytes_of(sweep) <= machine::caches().l3 * 3 / 4;
}

/// Whether it stays in the second levels of these threads: then blocks in time have nothing to
/// save. From the last cache, which others use too, plain sweeps take up to twice as long as
/// blocks, on some machines more.
template <class T>
[[nodiscard]] bool fits_second_levels(const Sweep<T>& sweep) {
  return bytes_of(sweep) <= machine::caches().l2 * sweep.threads;
}

}  // namespace tessera::stencil
