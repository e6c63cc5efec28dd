#pragma once
// State of which a process has one, although libtessera_cuda.so holds a copy of this code: the
// library works on the program's.

#include <atomic>

#include "base/work_done.hpp"
#include "machine/device_times.hpp"

namespace tessera::inline v1::machine {

struct SharedState {
  WorkDone* work;
  std::atomic<bool> contended;     ///< contention.hpp
  std::atomic<int> processes;      ///< that share the last-level caches, topology.hpp
  DeviceTimes& (*device_times)();  ///< the sums of the calling thread
};

[[nodiscard]] SharedState& shared_state() noexcept;
/// Makes this copy of the code use the state of another copy from now on.
void adopt(SharedState& others);

}  // namespace tessera::inline v1::machine
