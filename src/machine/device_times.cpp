#include "machine/device_times.hpp"

#include <utility>

namespace tessera::machine {
namespace {

thread_local DeviceTimes sums;

}  // namespace

DeviceTimes take_device_times() { return std::exchange(sums, {}); }

void add_device_times(const DeviceTimes& times) {
  sums.to_device += times.to_device;
  sums.kernels += times.kernels;
  sums.from_device += times.from_device;
  sums.merge += times.merge;
}

}  // namespace tessera::machine
