#pragma once
// The accesses of a schedule in the order of its time, through a private cache of each worker and a
// cache behind them that all share.

#include "lab/forkjoin/schedule.hpp"
#include "lab/locality/coherence.hpp"

namespace tessera::inline v1::microscope {

struct Caches {
  locality::Geometry own, shared;
  locality::Protocol protocol = locality::Protocol::msi;
};

struct Traffic {
  locality::CoherenceCounts coherent;  ///< of the private caches
  index_t alone = 0;   ///< misses of the private caches if nothing were ever invalidated
  index_t shared = 0;  ///< misses of the shared cache behind them
};

/// Replays the accesses, of a strand evenly over its operations. Precondition: they were kept.
[[nodiscard]] Traffic replay(const Computation& all, const Schedule& schedule,
                             const Caches& caches);

/// Returns Q_1 + deviations * M/B, which the misses of private LRU caches that are fully
/// associative and never invalidated do not exceed (Acar, Blelloch and Blumofe 2002): every
/// deviation finds another cache than the serial run at most.
[[nodiscard]] index_t most_misses(index_t serial_misses, const Schedule& schedule,
                                  const locality::Geometry& own);

}  // namespace tessera::inline v1::microscope
