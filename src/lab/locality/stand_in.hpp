#pragma once
// Misses of a kernel on the caches of this machine: what stands in where nobody grants hardware
// counters.

#include <string>
#include <vector>

#include "lab/locality/kernels.hpp"
#include "lab/locality/set_associative.hpp"
#include "run/counting.hpp"

namespace tessera::locality {

/// First, second and last level of this machine as hwloc tells them; where it knows none, usual
/// ones. Lines of one size.
[[nodiscard]] std::vector<Geometry> machine_caches();

struct LevelMisses {
  Problem problem;       ///< what was traced: the one asked for, or a smaller one of its shape
  bool whole = true;     ///< it is the one asked for
  index_t accesses = 0;  ///< loads and stores
  std::vector<index_t> misses;  ///< behind every level
};

/// Misses of the traced kernel behind each of the caches. A problem that takes more than about
/// `most` accesses is halved in all its sizes until it does not. Throws Error(usage) for what is
/// not traced.
[[nodiscard]] LevelMisses misses_behind(const std::vector<Geometry>& caches, const Problem& problem,
                                        double most);

/// Stands in for hardware counters, on machine_caches().
[[nodiscard]] run::Simulator simulator();

/// About how many accesses a problem takes.
[[nodiscard]] double expected_accesses(const Problem& problem);

/// The sizes of a problem in words: "m 64 n 64 k 64".
[[nodiscard]] std::string sizes_text(const Problem& problem);

}  // namespace tessera::locality
