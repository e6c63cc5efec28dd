#pragma once
// Measuring what this machine can do at most.

#include <functional>
#include <string>

#include "mpi/communicator.hpp"
#include "run/ceilings.hpp"

namespace tessera::run {

struct MeasuredCeilings {
  Ceilings
      ceilings;  ///< on rank 0: those measured now, and earlier ones where others had the cores now
  std::string notes;    ///< what was not kept, in a line; empty where all was
  CeilingsPlace place;  ///< where they are kept
};

/// Measures tasks, arithmetic, memory and a GPU on rank 0, which calls `begin` first, while the
/// other ranks sleep; then messages between all, each probe for about so many seconds. Keeps what
/// it finds. Collective. Throws AgreedError(cannot_create).
[[nodiscard]] MeasuredCeilings measure_ceilings(const mpi::Communicator& comm, double seconds,
                                                const std::function<void()>& begin);

}  // namespace tessera::run
