#pragma once
// Watches competition for this process's cores while a command runs.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/timer.hpp"
#include "machine/contention.hpp"
#include "run/roll_call.hpp"

namespace tessera::inline v1::run {

/// Returns whether `threads` threads per rank exceed the processing units or the quota that this
/// rank shares with its neighbours.
[[nodiscard]] bool is_overcommitted(const Neighbours& neighbours, int threads);

/// During its lifetime, a thread looks every 0.1 s whether this process's threads wait for cores,
/// and sets machine::is_contended(). Under contention it holds a team of OpenMP, asleep, such that
/// the process has more threads than processors: GCC's library then spins for microseconds instead
/// of milliseconds, and has no function for it. LLVM's has one, and spins for a millisecond. Both
/// are left to the user who sets OMP_WAIT_POLICY, GOMP_SPINCOUNT or KMP_BLOCKTIME.
class ContentionWatch {
 public:
  /// is_overcommitted: contention lasts, whatever is measured.
  ContentionWatch(int threads, bool is_overcommitted);
  ~ContentionWatch();
  ContentionWatch(const ContentionWatch&) = delete;
  ContentionWatch& operator=(const ContentionWatch&) = delete;

 private:
  void watch();
  /// Waits an interval and judges it; returns false when the watch ends.
  bool look();
  void hold_threads();

  const int threads_;
  const bool overcommitted_;
  double waited_;  // seconds, of all threads since their start
  machine::ContentionJudge judge_;
  Timer since_look_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tessera::inline v1::run
