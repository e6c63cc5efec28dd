#pragma once
// Replaces src/base/timer.hpp: the clock of the simulated machine.

#include <mpi.h>

namespace tessera::inline v1 {
inline namespace simulated {

class Timer {
 public:
  [[nodiscard]] double seconds() const { return MPI_Wtime() - start_; }
  [[nodiscard]] double started_after(const Timer& other) const { return start_ - other.start_; }
  double restart() {
    const double elapsed = seconds();
    start_ = MPI_Wtime();
    return elapsed;
  }

 private:
  double start_ = MPI_Wtime();
};

}  // namespace simulated
}  // namespace tessera::inline v1
