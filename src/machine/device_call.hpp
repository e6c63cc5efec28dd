#pragma once
// Calls of kernels on arrays that a caller has in device memory.

#include "machine/device.hpp"

namespace tessera::inline v1::machine::device {

/// Calls f(stream) after all earlier work of the current device, and waits for its work.
template <class F>
void call(const F& f) {
  synchronize();
  const Stream stream;
  f(static_cast<StreamHandle>(stream));
  stream.wait();
}

}  // namespace tessera::inline v1::machine::device
