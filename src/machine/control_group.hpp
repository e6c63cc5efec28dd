#pragma once
// Memory left to this process by its control groups (Linux, version 2 or 1).

#include <string>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// Returns the available bytes: the minimum over the process's own group and its visible ancestors,
/// because a parent's limit applies to its children (batch systems set it there). Unmapped page
/// cache and reclaimable slabs count as free: the kernel drops them first. Returns the largest
/// index_t if there is no limit. `root` is the prefix of /proc and /sys.
[[nodiscard]] index_t control_group_allowance(const std::string& root = "");

/// Returns the path in a line ID:CONTROLLERS:PATH of /proc/self/cgroup; the path may contain
/// colons.
[[nodiscard]] std::string control_group_path(const std::string& line);

}  // namespace tessera::inline v1::machine
