#pragma once
// MPI libraries in this process.

#include <string>
#include <string_view>

namespace tessera::inline v1::mpi {

/// Returns name and version, as "Open MPI v4.1.4" or "MPICH 4.0.2", in the text of
/// MPI_Get_library_version.
[[nodiscard]] std::string version_in(std::string_view text);

/// Throws Error (internal) if the process has loaded two MPI libraries, as of an HDF5 that was
/// built with another one. MPI_Init would crash.
void require_one_library();

/// Throws Error (internal) if the launcher started several processes of which each is the only rank
/// of its MPI library: the launcher belongs to another one. Precondition: MPI is initialised;
/// `ranks` are those of MPI_COMM_WORLD.
void require_own_launcher(int ranks);

}  // namespace tessera::inline v1::mpi
