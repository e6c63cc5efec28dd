#pragma once
// Where a process may run, on machines of any number of processing units.

#include <vector>

namespace tessera::machine {

/// Numbers of the processing units that a process may run on (0: this thread), ascending. Empty
/// where the system does not tell.
[[nodiscard]] std::vector<int> units_of(int process);

/// Lets this thread run on those alone; where the system refuses, all stays as it was.
void run_on(const std::vector<int>& units);

}  // namespace tessera::machine
