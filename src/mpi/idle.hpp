#pragma once
// How a rank waits for messages.

namespace tessera::mpi {

/// Lets this thread, which calls MPI, sleep while it waits inside the library and cores are
/// contended (machine::Patience), from now on. Open MPI polls; where a poll finds nothing it calls
/// sched_yield() if mpi_yield_when_idle is set, and this program's replaces the C library's.
/// Precondition: mpi_yield_when_idle was set before MPI_Init; otherwise ranks spin.
void sleep_while_idle() noexcept;

}  // namespace tessera::mpi
