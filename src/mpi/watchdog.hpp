#pragma once
// Watchdog: a rank without progress (heartbeat.hpp) for too long ends the job instead of hanging
// it.

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tessera::inline v1::mpi {

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

}  // namespace tessera::inline v1::mpi
