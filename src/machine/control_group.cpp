#include "machine/control_group.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

namespace tessera::machine {
namespace {

/// Where a version of the control groups keeps what, and what a line of a group's statistics begins with.
struct Names {
  const char *folder, *limit, *used, *unused_files;
};
constexpr Names version1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                         "total_inactive_file"};
constexpr Names version2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

/// -1 where there is none, as in "max".
index_t number_in(const std::string& file) {
  std::ifstream in(file);
  index_t value = -1;
  return in >> value ? value : -1;
}

/// Of a file of "word number" lines; 0 where the word is not there.
index_t number_after(const std::string& wanted, const std::string& file) {
  std::ifstream in(file);
  std::string word;
  index_t value = 0;
  while (in >> word >> value)
    if (word == wanted) return value;
  return 0;
}

/// What one group leaves.
index_t left_in(const std::string& folder, const Names& names) {
  const index_t limit = number_in(folder + names.limit), used = number_in(folder + names.used);
  if (limit < 0 || used < 0) return std::numeric_limits<index_t>::max();
  const index_t files = number_after(names.unused_files, folder + "memory.stat");
  return std::max<index_t>(0, limit - std::max<index_t>(0, used - files));
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
    const Names& names = v2 ? version2 : version1;
    while (true) {
      if (path == "/") path.clear();
      least = std::min(least, left_in(root + names.folder + path + "/", names));
      if (path.empty()) break;
      path.resize(std::min(path.rfind('/'), path.size() - 1));
    }
  }
  return least;
}

}  // namespace tessera::machine
