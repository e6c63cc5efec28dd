#pragma once

#include <time.h>

#include <cstdint>

namespace tessera::inline v1 {

/// The seconds on the steady clock since construction or the last restart. (By clock_gettime, as
/// std::chrono::steady_clock: <chrono> takes a third of a second to compile.)
class Timer {
 public:
  [[nodiscard]] double seconds() const { return seconds_of(now() - start_); }
  /// Returns the seconds from the start of `other` to the start of this timer; negative if this one
  /// started first.
  [[nodiscard]] double started_after(const Timer& other) const {
    return seconds_of(start_ - other.start_);
  }
  double restart() {
    const double elapsed = seconds();
    start_ = now();
    return elapsed;
  }

 private:
  static std::int64_t now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }
  static double seconds_of(std::int64_t nanoseconds) {
    return static_cast<double>(nanoseconds) / 1e9;
  }

  std::int64_t start_ = now();  ///< nanoseconds
};

}  // namespace tessera::inline v1
