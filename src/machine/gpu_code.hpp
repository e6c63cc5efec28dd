#pragma once
// The GPUs that compiled code runs on.

#include <string>
#include <string_view>

#include "machine/gpu.hpp"

namespace tessera::inline v1::machine {

/// Returns whether code for `architectures`, those of CMAKE_CUDA_ARCHITECTURES with spaces
/// between them ("80-real 90a-real 90-virtual"), runs on a device of that compute capability. Lists
/// that name no architectures (native, all, all-major) count as code for every device.
[[nodiscard]] bool has_code(std::string_view architectures, int major, int minor);

/// Returns the sentence for a device without code.
[[nodiscard]] std::string without_code(std::string_view architectures, const Gpu& gpu);

}  // namespace tessera::inline v1::machine
