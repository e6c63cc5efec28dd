#pragma once
// Accumulated durations of stream sections, measured by events. For builds with CUDA only.

#include <memory>
#include <vector>

#include "machine/cuda.hpp"

namespace tessera::inline v1::machine::cuda {

/// A section of a stream; the caller records both ends.
struct Lap {
  Event begin, end;
  [[nodiscard]] double seconds() const {
    return end.seconds_since(begin);
  }  ///< precondition: both have been reached
};

class Laps {
 public:
  /// Returns a lap to record. With most_under_way laps in use it waits for the oldest and reuses
  /// it.
  [[nodiscard]] Lap& next() {
    if (laps_.size() < most_in_flight) return *laps_.emplace_back(std::make_unique<Lap>());
    Lap& oldest = *laps_[taken_over_++ % most_in_flight];
    oldest.end.wait();
    seconds_ += oldest.seconds();
    return oldest;
  }
  /// Returns the sum of all laps since the last take, all of which must have ended, and resets it.
  [[nodiscard]] double take() {
    double sum = seconds_;
    for (const auto& lap : laps_) sum += lap->seconds();
    laps_.clear();
    seconds_ = 0;
    taken_over_ = 0;
    return sum;
  }

 private:
  static constexpr std::size_t most_in_flight = 64;
  std::vector<std::unique_ptr<Lap>> laps_;  // the most recent ones
  std::size_t taken_over_ = 0;              // number of reuses
  double seconds_ = 0;                      // of reused laps
};

}  // namespace tessera::inline v1::machine::cuda
