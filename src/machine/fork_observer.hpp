#pragma once
// Notification of the forks that a Recorder (work_span.hpp) runs, for recordings of more than
// totals.

namespace tessera::inline v1::machine {

class ForkObserver {
 public:
  ForkObserver() = default;
  ForkObserver(const ForkObserver&) = delete;
  ForkObserver& operator=(const ForkObserver&) = delete;
  virtual ~ForkObserver() = default;

  virtual void fork() = 0;         ///< ends a strand; the first side begins
  virtual void second_side() = 0;  ///< the first side has ended, the second begins
  virtual void join() = 0;         ///< the second side has ended; a strand begins
};

inline constinit thread_local ForkObserver* fork_observer = nullptr;

/// Scope guard: notifies an observer of the forks on this thread.
class Observed {
 public:
  explicit Observed(ForkObserver& observer) { fork_observer = &observer; }
  ~Observed() { fork_observer = nullptr; }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;
};

}  // namespace tessera::inline v1::machine
