#pragma once
// A rank that makes no progress for too long ends the job instead of hanging it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace tessera::mpi {

/// Says "still moving": called by every communication step and between the parts of long
/// computations.
void heartbeat() noexcept;
[[nodiscard]] std::uint64_t heartbeats() noexcept;  ///< until now

/// Names what the program is in, for the messages of die() and of the watchdog ("read", "compute",
/// ...).
void enter_phase(const char* name);
[[nodiscard]] const char* current_phase() noexcept;

/// While one lives, this rank computes and calls no MPI: processor time that it uses counts as
/// moving, however long a kernel runs. (A rank that waits for another may use processor time too;
/// that is why it must say so.)
class Computing {
 public:
  Computing() noexcept;
  ~Computing();
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
};

/// While it lives, a thread watches the heartbeat; `limit` seconds without one end the job with
/// exit code 75 (stalled) and one line that names rank, host and phase. limit <= 0 watches nothing.
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
