#pragma once
// A part of a run by name, for tools that watch MPI.

#include <mpi.h>

namespace tessera::mpi {

/// Tells profilers (IPM, mpiP, Score-P) and whatever else is between the program and the library
/// that a part of the run begins and, with the end of its life, ends: MPI_Pcontrol of 1 and -1,
/// which does nothing where nobody listens. Local.
class Region {
 public:
  /// name must be a literal.
  explicit Region(const char* name) noexcept : name_(name) { MPI_Pcontrol(1, name_); }
  ~Region() { MPI_Pcontrol(-1, name_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  const char* name_;
};

}  // namespace tessera::mpi
