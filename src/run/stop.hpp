#pragma once
// Signals: those that end a run, without leaving anything, and those that ask it to stop where it
// can go on later.

#include "mpi/agreement.hpp"

namespace tessera::run {

/// From now on SIGINT (Ctrl-C), SIGTERM and SIGHUP, where they are not ignored, end this process by
/// the same signal, as they would without this, but take the files that are not whole yet away
/// first and, of a process that no launcher started, say so in one sentence. (A launcher sends
/// SIGTERM to the ranks that are left when one has failed, and that one has said why.)
void end_cleanly_on_signals();
/// The program that this process waits for, which such a signal then ends too; 0: none any more.
void end_with_us(int child);

enum class CtrlC { ends, asks };
/// From now on SIGUSR1 (a batch system before the time is up), the first SIGTERM and, with
/// CtrlC::asks, the first SIGINT ask this process to stop instead of ending it; the second one ends
/// it.
void take_stop_signals(CtrlC how);

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
