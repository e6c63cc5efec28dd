#pragma once
// Asked to stop by a signal: not at once, but where the run can go on later.

#include "mpi/agreement.hpp"

namespace tessera::run {

/// From now on SIGUSR1 (a batch system before the time is up) and the first SIGTERM ask this process to stop
/// instead of ending it.
void take_stop_signals();

/// Some rank was asked to stop. Collective where the signals are taken, nothing elsewhere.
[[nodiscard]] bool stop_asked(const mpi::Communicator& comm);
/// This rank was. Local.
[[nodiscard]] bool stop_asked_here();

/// Thrown on every rank by what was asked to stop and is not done; run_points() ends the run.
class Stopped : public mpi::AgreedError {
 public:
  Stopped() : AgreedError(ExitCode::stopped_early, "stopped by a signal") {}
};

}  // namespace tessera::run
