#pragma once
// Measurement of this machine's peak rates.

#include <functional>
#include <string>

#include "mpi/communicator.hpp"
#include "run/ceilings.hpp"

namespace tessera::inline v1::run {

struct MeasuredCeilings {
  Ceilings ceilings;    ///< rank 0: the new ones, and earlier ones where the new were rejected
                        ///< because the cores were busy
  std::string notes;    ///< rejected rows, in a line; empty if none
  index_t stored = 0;   ///< rows that this measurement added or replaced
  CeilingsPlace place;  ///< location of the kept file
};

/// Calls `begin`, then measures tasks, arithmetic, memory and a GPU on rank 0 while the other ranks
/// sleep; then messages among all ranks, about `seconds` seconds per probe. Saves the ceilings if
/// any was accepted. Collective. Throws AgreedError(cannot_create).
[[nodiscard]] MeasuredCeilings measure_ceilings(const mpi::Communicator& comm, double seconds,
                                                const std::function<void()>& begin);

}  // namespace tessera::inline v1::run
