#pragma once
// Where the time of a repetition goes on this rank.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "base/timer.hpp"
#include "machine/device_times.hpp"
#include "mpi/account.hpp"
#include "mpi/watchdog.hpp"

namespace tessera::mpi {

/// One stay in a phase, in seconds since the watch began.
struct Stay {
  const char* phase;
  double begin = 0, end = 0;
};

/// Seconds by phase name, in the order of first use; when watched, every stay too.
class Phases {
 public:
  static constexpr const char* in_flight = "in flight";
  static constexpr std::size_t most_stays =
      4096;  // of a rank: 100 kB, more than a picture can show

  /// Keeps stays from now on.
  void watch() {
    clock_.emplace();
    stays_.reserve(most_stays);
  }
  [[nodiscard]] bool watched() const { return clock_.has_value(); }
  [[nodiscard]] const std::vector<Stay>& stays() const { return stays_; }
  /// phase must be a literal.
  void note_stay(const char* phase, const Timer& begin, const Timer& end) {
    if (!clock_ || stays_.size() == most_stays) return;
    stays_.push_back(
        {phase, std::max(0.0, begin.started_after(*clock_)), end.started_after(*clock_)});
  }

  void add(std::string_view name, double seconds) {
    for (auto& [known, total] : seconds_) {
      if (known == name) {
        total += seconds;
        return;
      }
    }
    seconds_.emplace_back(name, seconds);
  }
  [[nodiscard]] const std::vector<std::pair<std::string, double>>& seconds() const {
    return seconds_;
  }
  [[nodiscard]] double of(const std::string& name) const {
    for (const auto& [known, total] : seconds_) {
      if (known == name) return total;
    }
    return 0;
  }

 private:
  std::vector<std::pair<std::string, double>> seconds_;
  std::optional<Timer> clock_;
  std::vector<Stay> stays_;
};

/// Adds where device kernels that this thread ran since the last call spent their time; nothing if
/// none did.
inline void add_device_phases(Phases& phases) {
  const machine::DeviceTimes times = machine::take_device_times();
  if (times.kernels == 0) return;
  phases.add("to device", times.to_device);
  phases.add("device kernels", times.kernels);
  phases.add("from device", times.from_device);
  if (times.merge > 0) phases.add("merge", times.merge);
}

/// Adds the time of its life to a phase. name must be a literal: the watchdog keeps it. The phase
/// is entered in the list at once: at the end there may be no memory for it.
class PhaseScope {
 public:
  PhaseScope(Phases& phases, const char* name) : phases_(phases), name_(name), account_(name) {
    phases.add(name, 0);
    enter_phase(name);
  }
  ~PhaseScope() {
    const Timer end;  // one reading of the clock for both
    phases_.add(name_, end.started_after(timer_));
    phases_.note_stay(name_, timer_, end);
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Phases& phases_;
  const char* name_;
  AccountScope account_;
  Timer timer_;
};

/// While it lives messages of these ranks travel, whatever this one does: a stay beside the phases,
/// in no sum of theirs. One rank alone sends nothing.
class InFlight {
 public:
  explicit InFlight(Phases& phases, index_t ranks = 2) : phases_(phases), ranks_(ranks) {}
  ~InFlight() {
    if (ranks_ > 1) phases_.note_stay(Phases::in_flight, timer_, Timer());
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  Phases& phases_;
  index_t ranks_;
  Timer timer_;
};

}  // namespace tessera::mpi
