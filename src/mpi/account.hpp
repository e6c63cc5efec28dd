#pragma once
// Accounting of wall time: every second of this process belongs to one phase.

#include <pthread.h>

#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/timer.hpp"

namespace tessera::inline v1::mpi {

/// Seconds by phase since this process was started (by the system's clock, before its libraries
/// were loaded). The main thread is always in exactly one phase, so that the seconds of all phases
/// add up to the wall time. The first phase is "start".
class Account {
 public:
  Account();
  /// Enters a phase (a literal) and returns the previous one. No effect on other threads than the
  /// main one.
  const char* enter(const char* phase) noexcept;
  /// Returns the phase that the main thread is in. Thread-safe.
  [[nodiscard]] const char* phase() const noexcept { return now_.load()->phase; }
  /// Returns the seconds of each phase until now, in the order of first use. Main thread only.
  [[nodiscard]] std::vector<std::pair<std::string, double>> seconds();

 private:
  struct PhaseEntry {
    const char* phase = nullptr;
    double seconds = 0;
  };
  [[nodiscard]] PhaseEntry& entry_of(const char* phase) noexcept;
  void settle() noexcept;

  pthread_t main_ = pthread_self();
  std::array<PhaseEntry, 64> entries_;  ///< fixed: at the end there may be no memory for more
  std::atomic<PhaseEntry*> now_;
  Timer since_;
};

/// Returns the account of this process, constructed by the first call, in main.
[[nodiscard]] Account& account();

/// Formats the total and the phases of at least a millisecond, in lines of at most `columns`:
/// "1.25 s: start 80.1 ms, read 1.17 s". total: the words for their sum; "": the sum.
[[nodiscard]] std::string account_text(const std::vector<std::pair<std::string, double>>& seconds,
                                       std::size_t columns, std::string total = "");

/// Scope guard: enters a phase, and restores the enclosing one.
class AccountScope {
 public:
  explicit AccountScope(const char* phase) noexcept : before_(account().enter(phase)) {}
  ~AccountScope() { account().enter(before_); }
  AccountScope(const AccountScope&) = delete;
  AccountScope& operator=(const AccountScope&) = delete;

 private:
  const char* before_;
};

}  // namespace tessera::inline v1::mpi
