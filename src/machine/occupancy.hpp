#pragma once
// Occupancy: concurrent blocks of a device function on a multiprocessor, and the limiting resource.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/gpu.hpp"

namespace tessera::inline v1::machine {

/// A device function as a kernel launches it.
struct DeviceFunction {
  std::string kernel;  ///< variant that launches it
  std::string of;      ///< its instance by element type, step, ...; "" if there is only one
  const void* function = nullptr;
  int threads = 0;           ///< per block
  index_t shared_bytes = 0;  ///< dynamic, per block
};

template <class... Arguments>
[[nodiscard]] DeviceFunction device_function(std::string kernel, std::string of,
                                             void (*function)(Arguments...), int threads,
                                             index_t shared_bytes = 0) {
  return {std::move(kernel), std::move(of), reinterpret_cast<const void*>(function), threads,
          shared_bytes};
}

struct Occupancy {
  int registers = 0;          ///< per thread
  index_t local_bytes = 0;    ///< per thread: register spills and local arrays
  index_t shared_bytes = 0;   ///< per block, static and dynamic
  int blocks = 0, warps = 0;  ///< concurrent on a multiprocessor, as reported by the driver
  std::string limit;          ///< limiting resource
};

/// Returns the driver's occupancy on the current device. Throws Error(internal); requires a device.
[[nodiscard]] Occupancy occupancy(const DeviceFunction& function);

/// Returns the resource of a multiprocessor that limits the number of blocks of `threads` threads:
/// "registers", "shared memory", "warps" (maximal threads) or "blocks" (maximal blocks); several if
/// they tie. Registers are allocated to warps in units of 256 (compute capability 3 on).
[[nodiscard]] std::string occupancy_limit(const Gpu& gpu, int threads, int registers,
                                          index_t shared_bytes);

}  // namespace tessera::inline v1::machine
