// sched_yield() of the program: not in the library, which leaves that of other programs alone.

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi/idle.hpp"

/// Replaces the C library's function in the whole program. A yield to threads that compute costs
/// their whole time slice, at every poll.
extern "C" int sched_yield() noexcept {
  return tessera::mpi::pause_if_idle() ? 0 : static_cast<int>(syscall(SYS_sched_yield));
}
