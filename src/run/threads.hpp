#pragma once
// How many threads a rank should use when nobody says.

#include "mpi/communicator.hpp"

namespace tessera::run {

/// Sets the default number of OpenMP threads: OMP_NUM_THREADS if it is set, else the cores that this rank may
/// use divided by the ranks of the node that may use exactly the same ones (bound ranks have their own).
/// Collective.
void set_thread_default(const mpi::Communicator& comm);

}  // namespace tessera::run
