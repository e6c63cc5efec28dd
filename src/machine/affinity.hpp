#pragma once
// CPU affinity, on machines with any number of processing units.

#include <vector>

namespace tessera::inline v1::machine {

/// Returns the ascending numbers of the processing units on which a process (0: this thread) may
/// run; empty if the system does not report them.
[[nodiscard]] std::vector<int> units_of(int process);

/// Restricts this thread to the given units; has no effect if the system refuses.
void run_on(const std::vector<int>& units);

}  // namespace tessera::inline v1::machine
