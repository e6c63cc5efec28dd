#pragma once
// What the control groups that this process is in (Linux, version 2 or 1) leave it of memory.

#include <string>

#include "base/index.hpp"

namespace tessera::machine {

/// Bytes that can still be had: the least that a group leaves, from the process's own up to the
/// outermost one that is seen, for a parent's limit holds for its children (batch systems set it
/// there). Pages of files that no process has mapped count as free, and so do reclaimable slabs:
/// the kernel drops them first. The largest number where there is no limit. Below `root` lie /proc
/// and /sys.
[[nodiscard]] index_t control_group_allowance(const std::string& root = "");

/// The path of a group, of a line ID:CONTROLLERS:PATH of /proc/self/cgroup; it may have colons,
/// too.
[[nodiscard]] std::string control_group_path(const std::string& line);

}  // namespace tessera::machine
