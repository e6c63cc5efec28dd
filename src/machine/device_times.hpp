#pragma once
// Where a device kernel's time went, as its events saw it: what a profiler's summary shows.

namespace tessera::machine {

struct DeviceTimes {
  double to_device = 0;    ///< seconds of transfers to the device
  double kernels = 0;      ///< seconds of kernels
  double from_device = 0;  ///< seconds of transfers back
  double merge = 0;        ///< seconds of the host, of what came back in several runs
};

/// The sums since the last take on this thread; take sets them back to zero.
[[nodiscard]] DeviceTimes take_device_times();
void add_device_times(const DeviceTimes& times);

}  // namespace tessera::machine
