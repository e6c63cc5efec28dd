#pragma once
// How many threads a piece of work is worth.

#include "base/index.hpp"

namespace tessera::machine {

/// Threads to pass over so many bytes once: one has done with few before a team is awake, whose
/// threads would then spin until the next call.
[[nodiscard]] constexpr int team_for(index_t bytes, int threads) {
  constexpr index_t alone = index_t{256} << 10;
  return bytes < alone ? 1 : threads;
}

}  // namespace tessera::machine
