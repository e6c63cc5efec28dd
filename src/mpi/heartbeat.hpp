#pragma once
// Signals that this rank makes progress, and the phase that it is in.

#include <cstdint>

namespace tessera::inline v1::mpi {

/// Signals progress; called by every communication step and between the parts of long computations.
void heartbeat() noexcept;
[[nodiscard]] std::uint64_t heartbeats() noexcept;  ///< so far

/// Sets the current phase ("read", "compute", ...), named in messages of die() and the watchdog.
void enter_phase(const char* name);
[[nodiscard]] const char* current_phase() noexcept;

/// Scope guard: declares that this rank computes and calls no MPI, so that its CPU time counts as
/// progress, however long a kernel runs. (A rank that waits for another may use CPU time, too;
/// hence the declaration.)
class Computing {
 public:
  Computing() noexcept;
  ~Computing();
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
};

}  // namespace tessera::inline v1::mpi
