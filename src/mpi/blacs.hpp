#pragma once
// Process grids of the BLACS, found at run time: nothing of it is needed to build.

#include <string>

#include "mpi/communicator.hpp"

namespace tessera::inline v1::mpi {

/// A grid of processes and this one's place in it; rows == -1 outside of the grid.
struct BlacsGrid {
  int rows = -1, cols = -1;
  int row = -1, col = -1;
};
/// Returns the grid of a context. Throws Error(usage) if the program has no BLACS. Local.
[[nodiscard]] BlacsGrid blacs_grid(int context);
/// Returns the ranks of a context, numbered row by row: a duplicate that lives as long as the
/// context's own communicator. The first call for a context is collective over it, later ones are
/// local. Throws Error(usage) if BLACS numbers them otherwise.
[[nodiscard]] Communicator blacs_communicator(int context);
/// Ends the job as the BLACS do.
[[noreturn]] void blacs_abort(int context, int code);

/// Returns the function of that name in the program or in any of its libraries; nullptr if there is
/// none.
[[nodiscard]] void* symbol_of_program(const char* name);

}  // namespace tessera::inline v1::mpi
