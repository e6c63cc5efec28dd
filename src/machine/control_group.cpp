#include "machine/control_group.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>

namespace tessera::inline v1::machine {
namespace {

/// File names and statistics keys of one version of the control groups: pages of files, mapped
/// pages (of files and shared memory), shared memory, pages to be written and being written, and
/// reclaimable slabs of the kernel (not reported by version 1).
struct ControllerNames {
  const char *folder, *limit, *used, *inactive, *active, *mapped, *shared, *dirty, *writing, *slabs;
};
constexpr ControllerNames version1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                   "memory.usage_in_bytes", "total_inactive_file",
                                   "total_active_file",     "total_mapped_file",
                                   "total_shmem",           "total_dirty",
                                   "total_writeback",       ""};
constexpr ControllerNames version2{
    "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file",  "active_file",
    "file_mapped",    "shmem",      "file_dirty",     "file_writeback", "slab_reclaimable"};
constexpr index_t none = std::numeric_limits<index_t>::max();

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
index_t reclaimable(std::map<std::string, index_t>& numbers, const ControllerNames& names) {
  const index_t files = numbers[names.inactive] + numbers[names.active];
  const index_t mapped = std::max<index_t>(0, numbers[names.mapped] - numbers[names.shared]);
  return std::max<index_t>(0, files - mapped) + numbers[names.slabs];
}

GroupMemory memory_of(const std::string& folder, const ControllerNames& names) {
  const index_t limit = number_in(folder + names.limit);
  if (limit < 0 || limit > none / 2) return {none, 0};  // version 1 reports no limit as a large one
  const index_t used = number_in(folder + names.used);
  if (used < 0) return {none, 0};
  auto numbers = numbers_in(folder + "memory.stat");
  const index_t kept = std::max<index_t>(0, used - reclaimable(numbers, names));
  return {std::max<index_t>(0, limit - kept), numbers[names.dirty] + numbers[names.writing]};
}

}  // namespace

std::string control_group_path(const std::string& line) {
  return line.substr(std::min(line.size(), line.find(':', line.find(':') + 1) + 1));
}

GroupMemory control_group_memory(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  GroupMemory least{none, 0};
  for (std::string line; std::getline(groups, line);) {
    const bool v2 = line.starts_with("0::");
    std::string path = control_group_path(line);
    const auto controllers = line.substr(0, line.size() - path.size());
    if (!v2 && controllers.find("memory") == std::string::npos) continue;
    const ControllerNames& names = v2 ? version2 : version1;
    while (true) {
      if (path == "/") path.clear();
      const GroupMemory memory = memory_of(root + names.folder + path + "/", names);
      if (memory.left < least.left) least = memory;
      if (path.empty()) break;
      path.resize(std::min(path.rfind('/'), path.size() - 1));
    }
  }
  return least;
}

}  // namespace tessera::inline v1::machine
