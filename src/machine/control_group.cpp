#include "machine/control_group.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>

namespace tessera::inline v1::machine {
namespace {

/// File names and statistics keys of one version of the control groups: pages of files, mapped
/// pages (of files and shared memory), shared memory, and reclaimable slabs of the kernel (not
/// reported by version 1).
struct ControllerNames {
  const char *folder, *limit, *used, *inactive, *active, *mapped, *shared, *slabs;
};
constexpr ControllerNames version1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                   "memory.usage_in_bytes", "total_inactive_file",
                                   "total_active_file",     "total_mapped_file",
                                   "total_shmem",           ""};
constexpr ControllerNames version2{"/sys/fs/cgroup", "memory.max",      "memory.current",
                                   "inactive_file",  "active_file",     "file_mapped",
                                   "shmem",          "slab_reclaimable"};

/// Returns the number in a file; -1 if it has none, as with "max".
index_t number_in(const std::string& file) {
  std::ifstream in(file);
  index_t value = -1;
  return in >> value ? value : -1;
}

/// Reads a file of "word number" lines.
std::map<std::string, index_t> numbers_in(const std::string& file) {
  std::ifstream in(file);
  std::map<std::string, index_t> numbers;
  std::string word;
  for (index_t value = 0; in >> word >> value;) numbers[word] = value;
  return numbers;
}

/// Returns the bytes of a group's usage that the kernel reclaims before it kills a process: page
/// cache except pages mapped by processes, because a program whose own pages are evicted thrashes.
index_t reclaimable(const std::string& folder, const ControllerNames& names) {
  auto numbers = numbers_in(folder + "memory.stat");
  const index_t files = numbers[names.inactive] + numbers[names.active];
  const index_t mapped = std::max<index_t>(0, numbers[names.mapped] - numbers[names.shared]);
  return std::max<index_t>(0, files - mapped) + numbers[names.slabs];
}

/// Returns the bytes that a group leaves.
index_t left_in(const std::string& folder, const ControllerNames& names) {
  constexpr index_t none = std::numeric_limits<index_t>::max();
  const index_t limit = number_in(folder + names.limit);
  if (limit < 0 || limit > none / 2) return none;  // version 1 reports no limit as a large one
  const index_t used = number_in(folder + names.used);
  if (used < 0) return none;
  return std::max<index_t>(0, limit - std::max<index_t>(0, used - reclaimable(folder, names)));
}

}  // namespace

std::string control_group_path(const std::string& line) {
  return line.substr(std::min(line.size(), line.find(':', line.find(':') + 1) + 1));
}

index_t control_group_allowance(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  index_t least = std::numeric_limits<index_t>::max();
  for (std::string line; std::getline(groups, line);) {
    const bool v2 = line.starts_with("0::");
    std::string path = control_group_path(line);
    const auto controllers = line.substr(0, line.size() - path.size());
    if (!v2 && controllers.find("memory") == std::string::npos) continue;
    const ControllerNames& names = v2 ? version2 : version1;
    while (true) {
      if (path == "/") path.clear();
      least = std::min(least, left_in(root + names.folder + path + "/", names));
      if (path.empty()) break;
      path.resize(std::min(path.rfind('/'), path.size() - 1));
    }
  }
  return least;
}

}  // namespace tessera::inline v1::machine
