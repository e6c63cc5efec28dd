#pragma once

#include <chrono>

namespace tessera {

/// The seconds on the steady clock since construction or the last restart.
class Timer {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  /// Returns the seconds from the start of `other` to the start of this timer; negative if this one
  /// started first.
  [[nodiscard]] double started_after(const Timer& other) const {
    return std::chrono::duration<double>(start_ - other.start_).count();
  }
  double restart() {
    const double elapsed = seconds();
    start_ = std::chrono::steady_clock::now();
    return elapsed;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tessera
