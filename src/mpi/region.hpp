#pragma once
// Named parts of a run, for MPI profilers.

#include <mpi.h>

namespace tessera::inline v1::mpi {

/// Scope guard: marks a part of the run for profilers (IPM, mpiP, Score-P) and other tools between
/// program and library by MPI_Pcontrol(1) and MPI_Pcontrol(-1), which have no effect without one.
/// Local.
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

}  // namespace tessera::inline v1::mpi
