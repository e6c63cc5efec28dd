#pragma once
// Arrays of the caller in the memory of a GPU: the option gpu.

#include <optional>

#include "c/options.hpp"
#include "machine/device_call.hpp"

namespace tessera::inline v1::c {

/// Returns whether the options name a GPU, gpu=N, which becomes current. Throws Error(usage) if
/// there is none of that number, and for a kernel, which is the best one there.
[[nodiscard]] bool uses_gpu(const Options& options);
/// Returns the number of that GPU, or nothing. Throws as above.
[[nodiscard]] std::optional<int> gpu_of(const Options& options);

/// Throws Error(usage) naming the argument if its memory is known to be out of reach: that of the
/// host for arrays on a GPU, that of a GPU for arrays of the host.
void expect_reach(const void* data, bool on_gpu, const char* argument);

}  // namespace tessera::inline v1::c
