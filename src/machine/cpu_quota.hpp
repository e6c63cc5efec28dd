#pragma once
// Processor time that the control groups of this process grant it (Linux, version 2 or 1):
// containers limit time, and show all cores of their host.

#include <optional>
#include <string>

namespace tessera::machine {

/// Processors' worth of time: the least that a group grants, from the process's own up to the
/// outermost one that is seen, for a parent's limit holds for its children. Nothing where there is
/// no limit. Below `root` lie /proc and /sys.
[[nodiscard]] std::optional<double> cpu_quota(const std::string& root = "");

/// How many threads `processes` that share that time can keep busy each, of the `units` that they
/// may run on: at least one.
[[nodiscard]] int busy_threads(int units, int processes, std::optional<double> quota);

}  // namespace tessera::machine
