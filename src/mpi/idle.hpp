#pragma once
// How a rank waits for messages.

#include <mpi.h>

#include "machine/contention.hpp"

namespace tessera::inline v1::mpi {

/// Whether the MPI library spins inside blocking calls and never calls sched_yield(): MPICH and its
/// derivatives. Calls that wait for other ranks are then started and polled (poll_until).
#ifdef MPICH_NAME
constexpr bool library_spins = true;
#else
constexpr bool library_spins = false;
#endif

/// Polls until `done()` returns true; sleeps between polls where cores are contended
/// (machine::Patience).
template <class Done>
void poll_until(const Done& done) {
  constexpr int at_once = 64;  // polls, about 5 us, before each system call
  machine::Patience patience;
  for (int polls = 1; !done(); ++polls) {
    if (polls % at_once == 0) patience.wait();
  }
}

/// Lets this thread, which calls MPI, sleep while it waits inside the library and cores are
/// contended (machine::Patience), from now on. Open MPI polls; where a poll finds nothing it calls
/// sched_yield() if mpi_yield_when_idle is set, and the program's replaces the C library's: link
/// tessera_yield (yield.cpp), which is no part of the library. Precondition: mpi_yield_when_idle
/// was set before MPI_Init; otherwise ranks spin.
void sleep_while_idle() noexcept;

/// Continues the wait of a thread of sleep_while_idle() inside one MPI call, and sleeps where cores
/// are contended; returns false for other threads.
[[nodiscard]] bool pause_if_idle() noexcept;

}  // namespace tessera::inline v1::mpi
