#include "machine/device_times.hpp"

#include <utility>

#include "machine/shared_state.hpp"

namespace tessera::inline v1::machine {

DeviceTimes take_device_times() { return std::exchange(shared_state().device_times(), {}); }

void add_device_times(const DeviceTimes& times) {
  DeviceTimes& sums = shared_state().device_times();
  sums.to_device += times.to_device;
  sums.kernels += times.kernels;
  sums.from_device += times.from_device;
  sums.merge += times.merge;
}

}  // namespace tessera::inline v1::machine
