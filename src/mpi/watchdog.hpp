#pragma once
// Watchdog: a rank without progress for too long ends the job instead of hanging it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace tessera::mpi {

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

/// Monitors the heartbeat in a thread during its lifetime; `limit` seconds without a beat end the
/// job with exit code 75 (stalled) and one line that names rank, host and phase. limit <= 0
/// disables it.
class Watchdog {
 public:
  explicit Watchdog(double limit_seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(double limit_seconds);
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tessera::mpi
