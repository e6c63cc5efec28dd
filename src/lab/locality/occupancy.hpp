#pragma once
// What the kernels of a GPU take of a multiprocessor.

namespace tessera::locality {

/// Prints registers, shared and local memory, blocks and warps a multiprocessor of every device
/// function, and what limits them; why not, where there is no GPU.
void print_occupancy();

}  // namespace tessera::locality
