#pragma once
// Whose memory is at an address: that of the host or of a GPU.

namespace tessera::inline v1::machine {

/// Who can read and write memory.
enum class Reach { unknown, host, gpu, both };

/// Returns it as the driver of CUDA has it; unknown for nullptr, and in a process that has loaded
/// no driver.
[[nodiscard]] Reach reach_of(const void* address);

}  // namespace tessera::inline v1::machine
