#pragma once
// Memory left to this process by its control groups (Linux, version 2 or 1).

#include <string>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// Bytes of the group that leaves the fewest; without a limit the largest index_t and 0.
struct GroupMemory {
  /// Available bytes. Unmapped page cache and reclaimable slabs are: the kernel drops them first.
  index_t left;
  /// Of the page cache, the pages that are not yet on the device, which the kernel cannot drop.
  index_t unwritten;
};

/// Returns the minimum over the process's own group and its visible ancestors, because a parent's
/// limit applies to its children (batch systems set it there). `root` is the prefix of /proc and
/// /sys.
[[nodiscard]] GroupMemory control_group_memory(const std::string& root = "");

/// Returns the path in a line ID:CONTROLLERS:PATH of /proc/self/cgroup; the path may contain
/// colons.
[[nodiscard]] std::string control_group_path(const std::string& line);

}  // namespace tessera::inline v1::machine
