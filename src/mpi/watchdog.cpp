#include "mpi/watchdog.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/option_names.hpp"
#include "base/text.hpp"
#include "base/timer.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/runtime.hpp"

namespace tessera::inline v1::mpi {
namespace {

std::atomic<const char*> phase_name{"start"};
std::atomic<int> computing{0};

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Returns the processor time of all threads but the calling one.
double processor_seconds_of_others() {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID) - seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace

Computing::Computing() noexcept { computing.fetch_add(1, std::memory_order_relaxed); }
Computing::~Computing() {
  computing.fetch_sub(1, std::memory_order_relaxed);
  heartbeat();
}

void enter_phase(const char* name) {
  phase_name.store(name, std::memory_order_relaxed);
  heartbeat();
}
const char* current_phase() noexcept { return phase_name.load(std::memory_order_relaxed); }

Watchdog::Watchdog(double limit_seconds) {
  if (limit_seconds > 0) thread_ = std::thread([this, limit_seconds] { watch(limit_seconds); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::watch(double limit_seconds) {
  // On a loaded machine a computing rank may get this little only over many ticks.
  constexpr double tick = 0.1, busy_seconds = 0.01;
  std::uint64_t last = heartbeats();
  double used = processor_seconds_of_others();  // at the last progress
  double still = 0;  // seconds without a beat, except those in which the process was suspended
  Timer since_look;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(tick), [this] { return stop_; })) {
    still += std::min(since_look.restart(), 2 * tick);
    const std::uint64_t now = heartbeats();
    const double now_used = processor_seconds_of_others();
    const bool computes = computing.load() > 0 && now_used - used > busy_seconds;
    if (now != last || computes) {
      last = now;
      used = now_used;
      still = 0;
    } else if (still > limit_seconds) {
      // MPI_Abort may block on a lock that the hung call holds; then this process exits, and mpirun
      // ends the others.
      std::thread([] {
        std::this_thread::sleep_for(std::chrono::seconds(5));
        _exit(static_cast<int>(ExitCode::stalled));
      }).detach();
      die(ExitCode::stalled, "the run made no progress for " + human_seconds(limit_seconds) +
                                 " (a rank is stuck or far slower than others); raise " +
                                 std::string(option_or("--stall-limit", "limit_seconds")) +
                                 " if that is expected");
    }
  }
}

}  // namespace tessera::inline v1::mpi
