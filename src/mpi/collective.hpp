#pragma once
// Collective calls that poll where the MPI library spins.

#include "mpi/communicator.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/idle.hpp"

namespace tessera::inline v1::mpi {

/// Completes a collective call: `blocking`, or `started`, its nonblocking form, with polls.
template <auto blocking, auto started, class... Arguments>
void collective(const char* name, Arguments... arguments) {
  if constexpr (library_spins) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(started(arguments..., &request), name);
    poll_until([&] {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), name);
      return done != 0;
    });
  } else {
    check(blocking(arguments...), name);
  }
  heartbeat();
}

}  // namespace tessera::inline v1::mpi
