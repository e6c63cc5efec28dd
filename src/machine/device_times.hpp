#pragma once
// Device time by activity, measured by events, as in a profiler's summary.

namespace tessera::inline v1::machine {

struct DeviceTimes {
  double to_device = 0;    ///< seconds of transfers to the device
  double kernels = 0;      ///< seconds of kernels
  double from_device = 0;  ///< seconds of transfers back
  double merge = 0;        ///< seconds of merging, on the host, runs that were transferred back
};

/// Returns the sums since the last call on this thread and resets them.
[[nodiscard]] DeviceTimes take_device_times();
void add_device_times(const DeviceTimes& times);

}  // namespace tessera::inline v1::machine
