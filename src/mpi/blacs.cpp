#include "mpi/blacs.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "base/error.hpp"

namespace tessera::inline v1::mpi {
namespace {

/// Returns the function, a pointer of type F.
template <class F>
F blacs(const char* name) {
  void* const found = symbol_of_program(name);
  require(found != nullptr, ExitCode::usage,
          std::string(name) + " is not in this program; add the BLACS to its link line");
  return reinterpret_cast<F>(found);
}

constexpr int get_context_communicator = 10;  // SGET_BLACSCONTXT

}  // namespace

void* symbol_of_program(const char* name) { return dlsym(RTLD_DEFAULT, name); }

BlacsGrid blacs_grid(int context) {
  BlacsGrid grid;
  static const auto info = blacs<void (*)(int, int*, int*, int*, int*)>("Cblacs_gridinfo");
  info(context, &grid.rows, &grid.cols, &grid.row, &grid.col);
  return grid;
}

Communicator blacs_communicator(int context) {
  static const auto get = blacs<void (*)(int, int, int*)>("Cblacs_get");
  static const auto communicator_of = blacs<MPI_Comm (*)(int)>("Cblacs2sys_handle");
  int handle = -1;
  get(context, get_context_communicator, &handle);
  Communicator comm(communicator_of(handle));
  const BlacsGrid grid = blacs_grid(context);
  require_argument(
      comm.size() == grid.rows * grid.cols && comm.rank() == grid.row * grid.cols + grid.col,
      "context", "has a communicator whose ranks are not those of its grid, row by row");
  return comm;
}

void blacs_abort(int context, int code) {
  if (void* const found = symbol_of_program("Cblacs_abort"))
    reinterpret_cast<void (*)(int, int)>(found)(context, code);
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

}  // namespace tessera::inline v1::mpi
