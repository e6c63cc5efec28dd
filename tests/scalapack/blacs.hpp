#pragma once
// As much of a BLACS as the entries of ScaLAPACK ask for, in the test program.

#include <mpi.h>

#include <string>
#include <vector>

namespace tessera::scalapack {

/// Makes a context of the first rows * cols ranks of `members` (ranks of MPI_COMM_WORLD, row by
/// row); returns -1 on other ranks. Collective over MPI_COMM_WORLD.
[[nodiscard]] int make_context(int rows, int cols, const std::vector<int>& members);
/// Frees all contexts.
void free_contexts();

/// What the entries reported of wrong arguments since the last call: the number of PB_Cabort, or 0.
[[nodiscard]] int reported();
[[nodiscard]] std::string reported_routine();

}  // namespace tessera::scalapack
