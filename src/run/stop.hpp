#pragma once
// Signals: those that end a run without leaving partial files, and those that ask it to stop at a
// point from which it can resume.

#include "mpi/agreement.hpp"

namespace tessera::inline v1::run {

/// Installs handlers for SIGINT (Ctrl-C), SIGTERM and SIGHUP, unless ignored, that remove partial
/// files and re-raise the signal with its default action. A process without a launcher also prints
/// one sentence. (A launcher sends SIGTERM to the remaining ranks when one has failed, and that one
/// has printed its error.)
void end_cleanly_on_signals();
/// Sets the child process that such a signal also ends; 0: none.
void end_with_us(int child);

enum class CtrlC { ends, asks };
/// Makes SIGUSR1 (sent by batch systems before the time limit), the first SIGTERM and, with
/// CtrlC::asks, the first SIGINT request a stop instead of ending the process; a second SIGTERM or
/// SIGINT ends it.
void take_stop_signals(CtrlC how);

/// Returns whether some rank was asked to stop. Collective after take_stop_signals(), else local.
[[nodiscard]] bool stop_requested(const mpi::Communicator& comm);
/// Returns whether this rank was asked to stop. Local.
[[nodiscard]] bool stop_requested_here();

/// Thrown on every rank by unfinished work that was asked to stop; run_points() ends the run.
class Stopped : public mpi::AgreedError {
 public:
  Stopped() : AgreedError(ExitCode::stopped_early, "the run was stopped by a signal") {}
};

}  // namespace tessera::inline v1::run
