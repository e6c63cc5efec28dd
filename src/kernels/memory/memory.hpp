#pragma once
// Measured ceilings of this machine: arithmetic in registers, and memory bandwidth by number of
// threads. Each probe starts a team; call them outside any parallel region.

#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::memory {

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

/// Working set of a thread that one level of the cache holds and the smaller ones do not.
struct CacheProbe {
  const char* name;  ///< "read_l1", "read_l2", "read_l3"
  index_t bytes;     ///< of each thread
  index_t volume;    ///< that each thread reads in one run: milliseconds
};
/// Returns the probes of this machine's caches for `threads` threads. A level that does not hold
/// twice the smaller one for each thread has none.
[[nodiscard]] std::vector<CacheProbe> cache_probes(int threads);
/// Returns the bytes per second that all threads together read, the best of a few runs.
[[nodiscard]] double read_bandwidth(int threads, const CacheProbe& probe);

/// What threads do with their working set; a copy's is two arrays.
enum class Traffic { read, write, copy };
/// Returns bytes per second, counted as read once plus written once, of `threads` threads that go
/// over their parts of a working set of `bytes` again and again: the best of a few runs.
[[nodiscard]] double working_set_bandwidth(Traffic traffic, int threads, index_t bytes);

}  // namespace tessera::inline v1::memory
