#pragma once
// The code that runs on the current device. It may be older than the device: the driver compiles
// code for 7.5 for a device of 9.0, where instructions of 9.0 are then missing. Kernels are chosen
// by the code.

#include "base/index.hpp"

namespace tessera::inline v1::kernels {

struct DeviceCode {
  int architecture = 0;  ///< compute capability that it was compiled for: 75, 80, 90, ...
  bool wgmma = false;    ///< it is compiled for 9.0a
};

/// Returns the code of the current device, at most as new as the device. Throws Error(internal)
/// without a device, or without code for it. The first call on a device initialises it.
[[nodiscard]] const DeviceCode& device_code();

/// Returns the bytes of shared memory that a block may use: those of the current device, but at
/// most those of the smallest device that such code is meant for (64 KiB for 7.x, 163 KiB for 8.x),
/// so that newer devices run the kernels of older ones in tests. Plans without a device assume
/// one of 9.0.
[[nodiscard]] index_t shared_bytes_per_block();

}  // namespace tessera::inline v1::kernels
