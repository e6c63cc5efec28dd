#pragma once
// Load of other processes on the cores used by a measurement.

#include <vector>

namespace tessera::inline v1::machine {

/// Observes, from construction on, the processing units that this process may use.
class OthersLoad {
 public:
  OthersLoad();
  /// Returns the share, 0 to 1, of the units' time since construction that other processes and the
  /// hypervisor used, excluding `ours_seconds` of processor time of cooperating processes; NaN if
  /// the system does not report it. The system counts in ticks of a hundredth of a second; one tick
  /// per unit is subtracted as noise.
  [[nodiscard]] double share(double ours_seconds = 0) const;

 private:
  std::vector<int> units_;
  double busy_ = 0, own_ = 0, begin_ = 0;  ///< seconds
};

/// Returns the share over an interval of 0.2 s in which this thread sleeps.
[[nodiscard]] double others_share_now();

/// Returns the processor seconds that this process has used.
[[nodiscard]] double own_processor_seconds();
/// Returns the processor seconds that its ended child processes have used.
[[nodiscard]] double ended_children_seconds();

}  // namespace tessera::inline v1::machine
