#pragma once
// Whose memory is at an address: that of the host or of a GPU.

namespace tessera::inline v1::machine {

/// Who can read and write memory.
enum class Reach { unknown, host, gpu, both };

/// Looks for the driver of CUDA that a library of this process may have loaded (20 us where there
/// is none). Plans do when they are made.
void find_driver();

/// Returns it as the driver has it; unknown for nullptr, and before find_driver() has found one.
[[nodiscard]] Reach reach_of(const void* address);

/// Returns why memory is out of reach of the GPU (on_gpu) or of the host, as an error of an
/// argument has it; nullptr if it is in reach, or nothing is known.
[[nodiscard]] const char* out_of_reach(const void* address, bool on_gpu);

}  // namespace tessera::inline v1::machine
