#pragma once
// Simulated cache misses of a kernel on this machine's caches, as a substitute for unavailable
// hardware counters.

#include <string>
#include <vector>

#include "lab/locality/kernels.hpp"
#include "lab/locality/set_associative.hpp"
#include "run/counting.hpp"

namespace tessera::inline v1::locality {

/// Returns the first, second and last level of this machine according to hwloc, or common ones if
/// it reports none. All have the same line size.
[[nodiscard]] std::vector<Geometry> machine_caches();

struct LevelMisses {
  Problem problem;              ///< traced problem: the requested one or a smaller one of its shape
  bool whole = true;            ///< it is the requested one
  index_t accesses = 0;         ///< loads and stores
  std::vector<index_t> misses;  ///< by level
};

/// Returns the misses of the traced kernel at each cache level. Halves all sizes of a problem while
/// it takes more than about `most` accesses. Throws Error(usage) for untraced kernels.
[[nodiscard]] LevelMisses misses_behind(const std::vector<Geometry>& caches, const Problem& problem,
                                        double most);

/// Returns the simulator of machine_caches() that substitutes hardware counters.
[[nodiscard]] run::Simulator simulator();

/// Returns the approximate number of accesses of a problem.
[[nodiscard]] double expected_accesses(const Problem& problem);

/// Returns the sizes of a problem as text: "m 64 n 64 k 64".
[[nodiscard]] std::string sizes_text(const Problem& problem);

}  // namespace tessera::inline v1::locality
