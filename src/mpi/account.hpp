#pragma once
// Where the wall time of this process goes: every second since its start belongs to one phase.

#include <array>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/timer.hpp"

namespace tessera::mpi {

/// Seconds of this process by phase, from the moment it was started (by the system's clock, before
/// its libraries were loaded). At every moment the main thread is in exactly one phase, so the
/// seconds of all phases add up to the wall time. The first phase is "start".
class Account {
 public:
  Account();
  /// Puts the main thread into a phase (a literal) and returns the one that it was in. Other
  /// threads change nothing.
  const char* enter(const char* phase) noexcept;
  /// Returns the seconds of each phase up to now, in the order of their first use. Main thread
  /// only.
  [[nodiscard]] std::vector<std::pair<std::string, double>> seconds();

 private:
  struct PhaseEntry {
    const char* phase = nullptr;
    double seconds = 0;
  };
  [[nodiscard]] PhaseEntry& entry_of(const char* phase) noexcept;
  void settle() noexcept;

  std::thread::id main_ = std::this_thread::get_id();
  std::array<PhaseEntry, 64> entries_;  ///< fixed: at the end there may be no memory for more
  PhaseEntry* now_;
  Timer since_;
};

/// The one of this process; begins with the first call, which is main's.
[[nodiscard]] Account& account();

/// "1.25 s: start 80.1 ms, read 1.17 s": the phases of at least a millisecond.
[[nodiscard]] std::string account_text(const std::vector<std::pair<std::string, double>>& seconds);

/// Puts the main thread into a phase for its life, and back into the one around it.
class AccountScope {
 public:
  explicit AccountScope(const char* phase) noexcept : before_(account().enter(phase)) {}
  ~AccountScope() { account().enter(before_); }
  AccountScope(const AccountScope&) = delete;
  AccountScope& operator=(const AccountScope&) = delete;

 private:
  const char* before_;
};

}  // namespace tessera::mpi
