#pragma once
// Occupancy of a GPU's multiprocessors by its kernels.

namespace tessera::inline v1::locality {

/// Prints registers, shared and local memory, blocks and warps per multiprocessor of every device
/// function, and their limiting resource; without a GPU, the reason.
void print_occupancy();

}  // namespace tessera::inline v1::locality
