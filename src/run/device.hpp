#pragma once
// Kernels that need a GPU.

#include "kernels/variant.hpp"
#include "mpi/communicator.hpp"

namespace tessera::run {

/// Where the kernel is a device's: this rank's GPU becomes current, the ranks of a node share those there
/// are. Throws AgreedError(usage) where a rank has none. Collective.
void require_device(const mpi::Communicator& comm, const VariantInfo& kernel);

}  // namespace tessera::run
