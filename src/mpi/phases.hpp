#pragma once
// Where the time of a repetition goes on this rank.

#include <string>
#include <utility>
#include <vector>

#include "base/timer.hpp"
#include "mpi/watchdog.hpp"

namespace tessera::mpi {

/// Seconds by phase name, in the order of first use.
class Phases {
 public:
  void add(const std::string& name, double seconds) {
    for (auto& [known, total] : seconds_) {
      if (known == name) {
        total += seconds;
        return;
      }
    }
    seconds_.emplace_back(name, seconds);
  }
  [[nodiscard]] const std::vector<std::pair<std::string, double>>& seconds() const { return seconds_; }
  [[nodiscard]] double of(const std::string& name) const {
    for (const auto& [known, total] : seconds_) {
      if (known == name) return total;
    }
    return 0;
  }

 private:
  std::vector<std::pair<std::string, double>> seconds_;
};

/// Adds the time of its life to a phase. name must be a literal: the watchdog keeps it.
class PhaseScope {
 public:
  PhaseScope(Phases& phases, const char* name) : phases_(phases), name_(name) { enter_phase(name); }
  ~PhaseScope() { phases_.add(name_, timer_.seconds()); }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Phases& phases_;
  const char* name_;
  Timer timer_;
};

}  // namespace tessera::mpi
