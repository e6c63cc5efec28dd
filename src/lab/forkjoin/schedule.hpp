#pragma once
// Execution of a computation by simulated workers that steal work at random (Blumofe and Leiserson
// 1999): a worker that forks puts the second side at the bottom of its deque and runs the first; it
// continues with the newest of its deque; one without work steals the oldest of another, chosen at
// random. An operation and an attempt to steal take one unit of time each.

#include <vector>

#include "lab/forkjoin/computation.hpp"

namespace tessera::inline v1::microscope {

struct Steal {
  index_t time;  ///< at which the thief begins
  int thief, victim;
  index_t strand;  ///< that it begins with
};

struct Schedule {
  int workers = 1;
  index_t time = 0;            ///< T_P, operations
  std::vector<int> worker;     ///< by strand
  std::vector<index_t> begin;  ///< by strand
  std::vector<index_t> busy;   ///< by worker: operations
  std::vector<Steal> steals;   ///< in order of time
  index_t attempts = 0;        ///< to steal, in vain ones included
  /// Strands that their worker does not run right after the one before them in the serial order:
  /// stolen ones, and joins that the first side's worker reaches last.
  index_t deviations = 0;

  /// Returns c of T_P = T_1 / P + c T_inf.
  [[nodiscard]] double excess(const Computation& all) const;
  /// Returns max(T_1 / P, T_inf), which no scheduler undercuts.
  [[nodiscard]] double least(const Computation& all) const;
};

/// Returns the schedule of `workers` workers, the same for the same seed.
[[nodiscard]] Schedule work_stealing(const Computation& all, int workers, std::uint64_t seed);

}  // namespace tessera::inline v1::microscope
