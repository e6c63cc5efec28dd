#include "machine/topology.hpp"

#include <hwloc.h>
#include <hwloc/distances.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "machine/affinity.hpp"
#include "machine/control_group.hpp"
#include "machine/pages.hpp"
#include "machine/shared_state.hpp"

namespace tessera::inline v1::machine {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using TopologyHandle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

TopologyHandle load_topology() {
  hwloc_topology_t raw = nullptr;
  require(hwloc_topology_init(&raw) == 0, ExitCode::internal, "hwloc cannot be initialized");
  TopologyHandle topology(raw);
  require(hwloc_topology_load(raw) == 0, ExitCode::internal,
          "hwloc cannot read the topology of the machine");
  return topology;
}

/// Returns the hardware, read once: the system describes every core in several files.
hwloc_topology_t hardware() {
  static const TopologyHandle loaded = load_topology();
  return loaded.get();
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown";
}

/// Returns the number after `key` in a file of "key: value kB" lines, in bytes; -1 if it is
/// missing.
index_t kilobytes_line(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + ":"))
      return 1024 * std::strtoll(line.c_str() + key.size() + 1, nullptr, 10);
  }
  return -1;
}

}  // namespace

std::vector<int> usable_units() {
  std::vector<int> units;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    const std::size_t before = units.size();
    units.resize(before + static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, units.data() + before);
  }
  if (units.empty()) units = units_of(0);
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  return units;
}

Topology topology() {
  hwloc_topology_t hw = hardware();
  Topology result;
  result.processor = processor_name();
  std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> mask(hwloc_bitmap_alloc(),
                                                                     hwloc_bitmap_free);
  for (const int unit : usable_units()) hwloc_bitmap_set(mask.get(), static_cast<unsigned>(unit));
  if (hwloc_bitmap_iszero(mask.get()) != 0)
    hwloc_bitmap_copy(mask.get(), hwloc_topology_get_allowed_cpuset(hw));
  result.hardware_threads =
      std::max(1, hwloc_get_nbobjs_inside_cpuset_by_type(hw, mask.get(), HWLOC_OBJ_PU));
  result.cores = 0;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_CORE, core)) != nullptr;) {
    if (hwloc_bitmap_intersects(core->cpuset, mask.get()) != 0) ++result.cores;
  }
  result.cores = std::max(1, result.cores);
  result.numa_nodes = std::max(1, hwloc_get_nbobjs_by_type(hw, HWLOC_OBJ_NUMANODE));
  const std::array<std::pair<hwloc_obj_type_t, const char*>, 3> levels{
      {{HWLOC_OBJ_L1CACHE, "L1d"}, {HWLOC_OBJ_L2CACHE, "L2"}, {HWLOC_OBJ_L3CACHE, "L3"}}};
  for (const auto& [type, name] : levels) {
    const hwloc_obj_t cache = hwloc_get_obj_by_type(hw, type, 0);
    if (cache == nullptr) continue;
    result.caches.push_back(
        {name, static_cast<index_t>(cache->attr->cache.size),
         static_cast<index_t>(cache->attr->cache.linesize),
         std::max(1, hwloc_get_nbobjs_inside_cpuset_by_type(hw, cache->cpuset, HWLOC_OBJ_CORE)),
         std::max<index_t>(0, cache->attr->cache.associativity),
         std::max(1, hwloc_get_nbobjs_by_type(hw, type))});
  }
  char* list = nullptr;
  if (hwloc_bitmap_list_asprintf(&list, mask.get()) >= 0 && list != nullptr) result.cpu_list = list;
  std::free(list);
  return result;
}

std::vector<NumaNode> numa_nodes() {
  hwloc_topology_t hw = hardware();
  const std::vector<int> usable = usable_units();
  std::vector<NumaNode> nodes;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    NumaNode found{static_cast<int>(node->os_index), {}, {}};
    for (const int unit : usable)
      if (hwloc_bitmap_isset(node->cpuset, static_cast<unsigned>(unit)) != 0)
        found.units.push_back(unit);
    nodes.push_back(std::move(found));
  }
  unsigned count = 1;
  hwloc_distances_s* matrix = nullptr;
  if (hwloc_distances_get_by_type(hw, HWLOC_OBJ_NUMANODE, &count, &matrix,
                                  HWLOC_DISTANCES_KIND_FROM_OS, 0) != 0 ||
      count == 0)
    return nodes;
  if (matrix->nbobjs == nodes.size()) {
    for (std::size_t n = 0; n < nodes.size(); ++n)
      for (std::size_t m = 0; m < nodes.size(); ++m)
        nodes[n].distances.push_back(static_cast<double>(matrix->values[n * nodes.size() + m]));
  }
  hwloc_distances_release(hw, matrix);
  return nodes;
}

void share_last_caches(int processes) { shared_state().processes = std::max(1, processes); }

Caches caches() {
  // On virtual machines the C library reports the last-level cache of the whole host.
  static const Caches here = [] {
    Caches found;
    const Topology all = topology();
    for (const CacheLevel& level : all.caches) {
      if (level.name == "L1d" && level.bytes > 0) found.l1 = level.bytes;
      if (level.name == "L2" && level.bytes > 0) found.l2 = level.bytes;
      if (level.name == "L3") found.l3 = level.bytes, found.l3_instances = level.instances;
    }
    if (found.l3 == 0) found.l3 = found.l2;
    found.whole_l3 = found.l3;
    found.l3_takes_evicted = all.processor.starts_with("AMD");
    return found;
  }();
  Caches mine = here;
  mine.l3 = std::min(here.l3, here.l3 * here.l3_instances / shared_state().processes);
  return mine;
}

index_t available_memory() {
  index_t least = control_group_memory().left;
  if (const index_t free = kilobytes_line("/proc/meminfo", "MemAvailable"); free >= 0)
    least = std::min(least, free);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const index_t used = kilobytes_line("/proc/self/status", "VmSize");
    least = std::min(least, std::max<index_t>(0, static_cast<index_t>(limit.rlim_cur) -
                                                     std::max<index_t>(0, used)));
  }
  return least;
}

index_t resident() {
  give_back_released();
  // smaps_rollup is exact; VmRSS sums per-core counters, each of which may lag by 32 pages and
  // more.
  if (const index_t exact = kilobytes_line("/proc/self/smaps_rollup", "Rss"); exact >= 0)
    return exact;
  return std::max<index_t>(0, kilobytes_line("/proc/self/status", "VmRSS"));
}

index_t peak_resident() {
  return std::max<index_t>(0, kilobytes_line("/proc/self/status", "VmHWM"));
}

}  // namespace tessera::inline v1::machine
