#pragma once
// CPU time granted to this process by its control groups (Linux, version 2 or 1): containers limit
// time, but show all cores of their host.

#include <optional>
#include <string>

namespace tessera::inline v1::machine {

/// Returns the granted CPU time in processors: the minimum over the process's own group and its
/// visible ancestors, because a parent's limit applies to its children; none if unlimited. `root`
/// is the prefix of /proc and /sys.
[[nodiscard]] std::optional<double> cpu_quota(const std::string& root = "");

/// Returns how many threads each of `processes` that share the quota can keep busy on `units`
/// processing units: at least 1.
[[nodiscard]] int busy_threads(int units, int processes, std::optional<double> quota);

}  // namespace tessera::inline v1::machine
