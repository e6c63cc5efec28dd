#pragma once
// The number of threads that a task is worth.

#include "base/index.hpp"

namespace tessera::inline v1::machine {

/// Returns the number of threads for one pass over `bytes`: 1 below 256 KiB, which one thread
/// completes before a team wakes up, whose threads would then spin until the next call.
[[nodiscard]] constexpr int team_for(index_t bytes, int threads) {
  constexpr index_t alone = index_t{256} << 10;
  return bytes < alone ? 1 : threads;
}

}  // namespace tessera::inline v1::machine
