#pragma once
// Measured ceilings of this machine: arithmetic in registers, and memory bandwidth by number of
// threads. Each probe starts a team; call them outside any parallel region.

#include "base/index.hpp"

namespace tessera::memory {

/// Returns the rate of fused multiply-adds in registers in floating-point operations per second:
/// the best of a few runs, all `threads` together. An fma counts as two.
template <class T>
[[nodiscard]] double fma_peak(int threads);

/// Array size that exceeds all caches; a probe uses 2 or 3 arrays.
inline constexpr index_t probe_bytes = index_t{128} << 20;

/// Returns bytes per second, counted as read once plus written once, of the best of a few runs over
/// arrays of `bytes` that the threads share evenly; each thread touches its part first.
[[nodiscard]] double copy_bandwidth(int threads, index_t bytes = probe_bytes);  ///< a = b
[[nodiscard]] double triad_bandwidth(int threads,
                                     index_t bytes = probe_bytes);  ///< a = b + s c (McCalpin 1995)

}  // namespace tessera::memory
