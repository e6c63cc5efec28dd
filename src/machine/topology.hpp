#pragma once
// Resources of this process: cores, caches, memory.

#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

struct CacheLevel {
  std::string name;  ///< "L1d", "L2", "L3"
  index_t bytes = 0;
  index_t line_bytes = 0;
  int shared_by = 1;  ///< cores that share one instance
  index_t ways = 0;   ///< associativity; 0: unknown, or fully associative
  int instances = 1;  ///< in the machine
};

struct Topology {
  std::string processor;     ///< model name
  int cores = 1;             ///< physical cores that this process may run on
  int hardware_threads = 1;  ///< processing units that this process may run on
  int numa_nodes = 1;
  std::vector<CacheLevel> caches;
  std::string cpu_list;  ///< "0-3,8": processing units that this process may use
};

/// Returns the numbers of the processing units that this process may use: those of OpenMP's places
/// if defined (with OMP_PROC_BIND or OMP_PLACES the first thread is bound to one place before main,
/// and the affinity mask shows that place only), otherwise the mask's. Empty if the system does not
/// report them.
[[nodiscard]] std::vector<int> usable_units();

/// Returns the topology by hwloc, restricted to usable_units().
[[nodiscard]] Topology topology();

/// A NUMA node of the machine.
struct NumaNode {
  int number = 0;                 ///< the system's
  std::vector<int> units;         ///< processing units of it that this process may use
  std::vector<double> distances;  ///< to every node, as the firmware states; empty: unknown
};
/// Returns the NUMA nodes in the order of hwloc.
[[nodiscard]] std::vector<NumaNode> numa_nodes();

/// Cache sizes for blocking, in bytes: those of a core, and this process's share of the last level.
struct Caches {
  index_t l1 = index_t{48} << 10, l2 = index_t{1} << 20, l3 = 0;
  index_t whole_l3 = 0;           ///< including the shares of other processes
  int l3_instances = 1;           ///< in the machine
  bool l3_takes_evicted = false;  ///< L3 is a victim cache of L2 (AMD)
};
/// Returns the sizes of topology(), queried once; l3 is this process's share of it.
[[nodiscard]] Caches caches();
/// Declares that `processes` processes on this node share its last-level caches equally.
void share_last_caches(int processes);
/// Returns whether L1 is smaller than 48 KiB, as with 32 KiB: then half of the lines of a few
/// adjacent rows are evicted before they are reused.
[[nodiscard]] inline bool has_small_first_level() { return caches().l1 < index_t{48} << 10; }

/// Returns the bytes available on this node: the minimum of MemAvailable, the control group's
/// allowance and the address space limit.
[[nodiscard]] index_t available_memory();
/// Returns the current resident size of this process in bytes, after releasing freed blocks
/// retained by malloc.
[[nodiscard]] index_t resident();
/// Returns the peak resident size of this process in bytes.
[[nodiscard]] index_t peak_resident();

}  // namespace tessera::inline v1::machine
