#include "machine/cpu_quota.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "machine/control_group.hpp"

namespace tessera::inline v1::machine {
namespace {

/// Returns the processors granted by the group in `folder`; none if unlimited ("max" or -1).
std::optional<double> granted_in(const std::string& folder, bool v2) {
  double limit = -1, period = 0;
  if (v2) {
    std::ifstream(folder + "cpu.max") >> limit >> period;
  } else {
    std::ifstream(folder + "cpu.cfs_quota_us") >> limit;
    std::ifstream(folder + "cpu.cfs_period_us") >> period;
  }
  if (!(limit > 0) || !(period > 0)) return {};
  return limit / period;
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool v2 = line.starts_with("0::");
    if (!v2 && line.find("cpu,") == std::string::npos && line.find(":cpu:") == std::string::npos)
      continue;
    const std::string base = root + (v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu");
    std::string path = control_group_path(line);
    while (true) {
      if (path == "/") path.clear();
      if (const auto granted = granted_in(base + path + "/", v2))
        least = std::min(least.value_or(*granted), *granted);
      if (path.empty()) break;
      path.resize(std::min(path.rfind('/'), path.size() - 1));
    }
  }
  return least;
}

int busy_threads(int units, int processes, std::optional<double> quota) {
  const double each = quota ? std::floor(*quota / processes) : units;
  return std::max(1, static_cast<int>(std::min<double>(units, each)));
}

}  // namespace tessera::inline v1::machine
