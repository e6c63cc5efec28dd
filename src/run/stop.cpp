#include "run/stop.hpp"

#include <atomic>
#include <csignal>

namespace tessera::run {
namespace {

std::atomic<bool> taken{false}, asked{false};
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void take_stop_signals() {
  std::signal(SIGUSR1, [](int) { asked = true; });
  std::signal(SIGTERM, [](int) {
    asked = true;
    std::signal(SIGTERM, SIG_DFL);  // who asks twice does not want to wait
  });
  taken = true;
}

bool stop_asked(const mpi::Communicator& comm) { return taken && comm.max(index_t{asked ? 1 : 0}) != 0; }

bool stop_asked_here() { return asked; }

}  // namespace tessera::run
