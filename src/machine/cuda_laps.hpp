#pragma once
// How long parts of streams took, as their events saw it, in sum. Include it only where CUDA is
// built.

#include <memory>
#include <vector>

#include "machine/cuda.hpp"

namespace tessera::machine::cuda {

/// A part of a stream: whoever asks for it records both ends.
struct Lap {
  Event begin, end;
  [[nodiscard]] double seconds() const {
    return end.seconds_since(begin);
  }  ///< both have been reached
};

class Laps {
 public:
  /// The next one. Where many are under way it waits for the oldest.
  [[nodiscard]] Lap& next() {
    if (laps_.size() < most_under_way) return *laps_.emplace_back(std::make_unique<Lap>());
    Lap& oldest = *laps_[taken_over_++ % most_under_way];
    oldest.end.wait();
    seconds_ += oldest.seconds();
    return oldest;
  }
  /// The sum of all so far, which have ended; then there are none.
  [[nodiscard]] double take() {
    double sum = seconds_;
    for (const auto& lap : laps_) sum += lap->seconds();
    laps_.clear();
    seconds_ = 0;
    taken_over_ = 0;
    return sum;
  }

 private:
  static constexpr std::size_t most_under_way = 64;
  std::vector<std::unique_ptr<Lap>> laps_;  // the last ones
  std::size_t taken_over_ = 0;              // laps that took the place of another
  double seconds_ = 0;                      // of those that lost it
};

}  // namespace tessera::machine::cuda
