#pragma once
// tessera memory: the five kinds of miss, timed and simulated.

#include "kernels/memory/misses.hpp"
#include "run/options.hpp"

namespace tessera::apps::memory_probes {

[[nodiscard]] run::OptionSet declare_options();

/// What simulators say of one run of a probe, per touch.
struct Simulated {
  double l1_misses = 0, l2_misses = 0, llc_misses = 0;  ///< demand, not prefetched; in this machine's caches
  double l1_conflicts = 0;  ///< of those of the first level: beyond a fully associative one
  double true_sharing = 0, false_sharing = 0;  ///< between private caches
};

/// Simulates the walk, of sharing probes the first rounds of it.
[[nodiscard]] Simulated simulate(const memory::ProbeVariant& probe, memory::Walk walk);

}  // namespace tessera::apps::memory_probes
