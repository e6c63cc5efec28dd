#pragma once
// Decisions from the sizes of this machine's caches.

#include "kernels/stencil/sweep.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::stencil {

/// Returns the working set in bytes: both levels and the terms.
template <class T>
[[nodiscard]] index_t bytes_of(const Sweep<T>& sweep) {
  return (2 + sweep.terms.count()) * sweep.extent().volume() * static_cast<index_t>(sizeof(T));
}

/// Returns whether the working set stays in the last-level cache from step to step.
template <class T>
[[nodiscard]] bool fits_in_cache(const Sweep<T>& sweep) {
  return bytes_of(sweep) <= machine::caches().l3 * 3 / 4;
}

/// Returns whether the working set stays in the second-level caches of these threads: temporal
/// blocking then gains nothing. From the last-level cache, which is shared with others, plain
/// sweeps take up to twice as long as temporal blocks, on some machines more.
template <class T>
[[nodiscard]] bool fits_second_levels(const Sweep<T>& sweep) {
  return bytes_of(sweep) <= machine::caches().l2 * sweep.threads;
}

}  // namespace tessera::inline v1::stencil
