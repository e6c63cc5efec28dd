#pragma once
// Time of a repetition on this rank, by phase.

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
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::mpi {

/// One interval in a phase, in seconds since watch().
struct Stay {
  const char* phase;
  double begin = 0, end = 0;
};

/// Seconds by phase name, in the order of first use; if watched, also every interval.
class Phases {
 public:
  static constexpr const char* in_flight = "in flight";
  static constexpr std::size_t most_stays = 4096;  // per rank: 100 kB, more than a picture can show

  /// Records intervals from now on.
  void watch() {
    clock_.emplace();
    stays_.reserve(most_stays);
  }
  [[nodiscard]] bool watched() const { return clock_.has_value(); }
  [[nodiscard]] const std::vector<Stay>& stays() const { return stays_; }
  /// Records an interval; phase must be a literal.
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

/// Adds the times of device kernels of this thread since the last call; no effect if none ran.
inline void add_device_phases(Phases& phases) {
  const machine::DeviceTimes times = machine::take_device_times();
  if (times.kernels == 0) return;
  phases.add("to device", times.to_device);
  phases.add("device kernels", times.kernels);
  phases.add("from device", times.from_device);
  if (times.merge > 0) phases.add("merge", times.merge);
}

/// Scope guard: adds its lifetime to a phase. name must be a literal, because the watchdog keeps
/// it. The phase is registered on construction, because memory may be exhausted at the end.
class PhaseScope {
 public:
  PhaseScope(Phases& phases, const char* name) : phases_(phases), name_(name), account_(name) {
    phases.add(name, 0);
    enter_phase(name);
  }
  ~PhaseScope() {
    const Timer end;  // a single reading of the clock for both
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

/// Scope guard: records that messages of `ranks` ranks are in flight, independent of the phases and
/// not part of their sums. No effect for a single rank.
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

}  // namespace tessera::inline v1::mpi
