#pragma once
// MPI libraries in this process.

namespace tessera::mpi {

/// Throws Error (internal) if the process has loaded two MPI libraries, as of an HDF5 that was
/// built with another one. MPI_Init would crash.
void require_one_library();

}  // namespace tessera::mpi
