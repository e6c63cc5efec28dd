#pragma once
// Arrays of the caller in the memory of a GPU: the option gpu of functions of one process.

#include "c/options.hpp"
#include "machine/device_call.hpp"

namespace tessera::inline v1::c {

/// Returns whether the options name a GPU, gpu=N, which becomes current. Throws Error(usage) if
/// there is none of that number, and for a kernel, which is the best one there.
[[nodiscard]] bool uses_gpu(const Options& options);

}  // namespace tessera::inline v1::c
