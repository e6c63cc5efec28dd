#pragma once
// How many blocks of a device function run on a multiprocessor at once, and what keeps more of them
// away.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/gpu.hpp"

namespace tessera::machine {

/// A device function as a kernel launches it.
struct DeviceFunction {
  std::string kernel;  ///< the variant that launches it
  std::string of;      ///< element type, step, ...: which of its instances; "" where there is one
  const void* function = nullptr;
  int threads = 0;           ///< of a block
  index_t shared_bytes = 0;  ///< of a block, asked for at the launch
};

template <class... Arguments>
[[nodiscard]] DeviceFunction device_function(std::string kernel, std::string of,
                                             void (*function)(Arguments...), int threads,
                                             index_t shared_bytes = 0) {
  return {std::move(kernel), std::move(of), reinterpret_cast<const void*>(function), threads,
          shared_bytes};
}

struct Occupancy {
  int registers = 0;          ///< of a thread
  index_t local_bytes = 0;    ///< of a thread: what did not fit the registers
  index_t shared_bytes = 0;   ///< of a block, declared and asked for at the launch
  int blocks = 0, warps = 0;  ///< on a multiprocessor at once, as the driver says
  std::string limit;          ///< what keeps more away
};

/// What the driver says on the current device. Throws Error(internal); never called without a
/// device.
[[nodiscard]] Occupancy occupancy(const DeviceFunction& function);

/// Which of a multiprocessor's resources is spent first by blocks of so many threads: "registers",
/// "shared memory", "warps" (the threads it holds) or "blocks" (their number); two that end
/// together are both named. Registers are dealt out to warps in pieces of 256 (compute capability 3
/// on).
[[nodiscard]] std::string occupancy_limit(const Gpu& gpu, int threads, int registers,
                                          index_t shared_bytes);

}  // namespace tessera::machine
