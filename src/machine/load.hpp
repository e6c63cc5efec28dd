#pragma once
// How busy others keep the cores that a measurement needs.

#include <vector>

namespace tessera::machine {

/// Watches the processing units that this process may use from when it is made.
class OthersLoad {
 public:
  OthersLoad();
  /// The part of their time since then, 0 to 1, that other processes had, and the hypervisor, but
  /// for `ours_seconds` of processor time of processes that are no others; NaN where the system
  /// does not tell. The system counts in ticks of a hundredth of a second, and one of each unit
  /// proves nothing.
  [[nodiscard]] double share(double ours_seconds = 0) const;

 private:
  std::vector<int> units_;
  double busy_ = 0, own_ = 0, begin_ = 0;  ///< seconds
};

/// The same of a moment in which this thread sleeps.
[[nodiscard]] double others_share_now();

/// Seconds of processor time that this process has used.
[[nodiscard]] double own_processor_seconds();

}  // namespace tessera::machine
