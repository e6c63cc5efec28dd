#include "machine/contention.hpp"

#include <strings.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "machine/shared_state.hpp"

namespace tessera::inline v1::machine {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr double contended_share = 0.05, quiet_seconds = 1;

/// Sleeps about `seconds`: without the 50 us by which the system may extend every sleep.
void sleep_exactly(Seconds seconds) noexcept {
  thread_local const bool exact = prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0;
  static_cast<void>(exact);
  timespec time{};
  time.tv_nsec = static_cast<long>(seconds.count() * 1e9);
  nanosleep(&time, nullptr);
}

}  // namespace

bool is_asked_to_sleep() noexcept {
  const char* const policy = std::getenv("OMP_WAIT_POLICY");
  return policy != nullptr && strcasecmp(policy, "passive") == 0;
}
bool is_contended() noexcept { return shared_state().contended.load(std::memory_order_relaxed); }
void set_contended(bool value) noexcept {
  static const bool always = is_asked_to_sleep();
  shared_state().contended.store(value || always, std::memory_order_relaxed);
}

void Patience::wait() noexcept {
  constexpr Seconds spin{50e-6}, longest{200e-6};
  if (!is_contended()) {
    syscall(SYS_sched_yield);  // sched_yield() may be mpi/yield.cpp's
    return;
  }
  const auto now = Clock::now();
  if (began_ == Clock::time_point{}) began_ = now;
  const Seconds waited = now - began_;
  if (waited > spin) sleep_exactly(std::min(waited / 4, longest));
}

bool is_overcommitted(const ThreadLoad& load, int units, std::optional<double> quota) {
  return (units > 0 && load.on_units > units) || (quota && load.on_host > *quota);
}

bool ContentionJudge::judge(double waited, double seconds) noexcept {
  if (waited > contended_share * seconds) {
    contended_ = true;
    quiet_ = 0;
  } else {
    quiet_ += seconds;
    if (quiet_ >= quiet_seconds) contended_ = false;
  }
  return contended_;
}

}  // namespace tessera::inline v1::machine
