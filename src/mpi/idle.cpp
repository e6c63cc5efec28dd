#include "mpi/idle.hpp"

#include "machine/contention.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::mpi {
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

bool pause_if_idle() noexcept {
  if (waits_for_ranks && machine::is_contended()) pause_idle();
  return waits_for_ranks;
}

}  // namespace tessera::inline v1::mpi
