#pragma once
// What this process may use: cores, caches, memory.

#include <string>
#include <vector>

#include "base/index.hpp"

namespace tessera::machine {

struct CacheLevel {
  std::string name;  ///< "L1d", "L2", "L3"
  index_t bytes = 0;
  index_t line_bytes = 0;
  int shared_by = 1;  ///< cores that share one
  index_t ways = 0;   ///< lines of a set; 0: unknown, or fully associative
  int instances = 1;  ///< of the machine
};

struct Topology {
  std::string processor;     ///< model name
  int cores = 1;             ///< physical cores that this process may run on
  int hardware_threads = 1;  ///< processing units that this process may run on
  int numa_nodes = 1;
  std::vector<CacheLevel> caches;
  std::string cpu_list;  ///< "0-3,8": where this process may run
};

/// Numbers of the processing units that this process may use: those of OpenMP's places where there
/// are any (OMP_PROC_BIND, OMP_PLACES: the first thread is bound to one of them before main, and
/// the affinity mask tells of that one alone), else the mask's. Empty where the system does not
/// tell.
[[nodiscard]] std::vector<int> usable_units();

/// As hwloc and usable_units() say; never the whole machine when only a part is ours.
[[nodiscard]] Topology topology();

/// The caches that kernels reckon with, bytes: of a core, and what this process has of the last
/// one.
struct Caches {
  index_t l1 = index_t{48} << 10, l2 = index_t{1} << 20, l3 = 0;
  index_t whole_l3 = 0;  ///< with the parts of the other processes
  int l3_instances = 1;  ///< of the machine
  bool l3_takes_evicted =
      false;  ///< what second levels give up goes there and comes back from there (AMD)
};
/// As topology() says, looked up once; all of a last cache but where processes share it.
[[nodiscard]] Caches caches();
/// From here on this process is one of so many on its node, to which its last caches belong in
/// equal parts.
void share_last_caches(int processes);
/// A first level of 32 KiB: half of the lines that would wait there for some rows side by side are
/// thrown out by their turn.
[[nodiscard]] inline bool has_small_first_level() { return caches().l1 < index_t{48} << 10; }

/// Bytes that can still be had on this node: the least of MemAvailable, what the control group
/// leaves and the address space limit.
[[nodiscard]] index_t available_memory();
/// The resident size of this process now, bytes, after what malloc keeps of released blocks was
/// given back.
[[nodiscard]] index_t resident();
/// The largest resident size of this process so far, bytes.
[[nodiscard]] index_t peak_resident();

}  // namespace tessera::machine
