#pragma once
// Ceilings of this machine, measured: arithmetic in registers, and memory bandwidth by number of
// threads. Each probe makes its own team; call them outside any parallel region.

#include "base/index.hpp"

namespace tessera::memory {

/// Floating-point operations per second of fused multiply-adds that never leave the registers: the
/// best of a few runs, all `threads` together. An fma counts as two.
template <class T>
[[nodiscard]] double fma_peak(int threads);

/// Large enough that no cache helps: a probe takes 2 or 3 arrays of it.
inline constexpr index_t probe_bytes = index_t{128} << 20;

/// Bytes per second, counted as read once plus written once, of the best of a few runs over arrays
/// of `bytes` that the threads share evenly; each thread touches its part first.
[[nodiscard]] double copy_bandwidth(int threads, index_t bytes = probe_bytes);  ///< a = b
[[nodiscard]] double triad_bandwidth(int threads,
                                     index_t bytes = probe_bytes);  ///< a = b + s c (McCalpin 1995)

}  // namespace tessera::memory
