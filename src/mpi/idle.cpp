#include "mpi/idle.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/contention.hpp"
#include "mpi/watchdog.hpp"

namespace tessera::mpi {
namespace {

thread_local bool waits_for_ranks = false;

/// Continues the wait inside one MPI call; a heartbeat ends each.
void pause_idle() noexcept {
  thread_local machine::Patience patience;
  thread_local std::uint64_t beat = 0;
  if (const std::uint64_t now = heartbeats(); now != beat) {
    beat = now;
    patience = {};
  }
  patience.wait();
}

}  // namespace

void sleep_while_idle() noexcept { waits_for_ranks = true; }

}  // namespace tessera::mpi

/// Replaces the C library's function in the whole program. A yield to threads that
/// compute costs their whole time slice, at every poll.
extern "C" int sched_yield() noexcept {
  if (!tessera::mpi::waits_for_ranks) return static_cast<int>(syscall(SYS_sched_yield));
  if (tessera::machine::is_contended()) tessera::mpi::pause_idle();
  return 0;
}
