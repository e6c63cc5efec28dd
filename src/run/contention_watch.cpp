#include "run/contention_watch.hpp"

#include <dlfcn.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <system_error>

#include "machine/cpu_quota.hpp"
#include "machine/fork_join.hpp"
#include "machine/load.hpp"
#include "machine/topology.hpp"
#include "machine/waiting.hpp"

namespace tessera::inline v1::run {
namespace {

constexpr std::chrono::milliseconds interval{100};

/// Returns whether the user leaves the waiting of OpenMP's threads to Tessera.
bool may_throttle() {
  return std::getenv("OMP_WAIT_POLICY") == nullptr && std::getenv("GOMP_SPINCOUNT") == nullptr &&
         std::getenv("KMP_BLOCKTIME") == nullptr;
}

/// Returns the function by which the libraries of LLVM and Intel set the milliseconds for which
/// threads spin after a region, 200 of their own accord; nullptr in GCC's.
auto spin_setter() {
  return reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "kmp_set_blocktime"));
}

/// Returns whether the limits of this process are far from its needs: OpenMP ends a program that
/// cannot have a thread.
bool is_room_for(int threads) {
  rlimit processes{}, memory{};
  if (getrlimit(RLIMIT_NPROC, &processes) != 0 || getrlimit(RLIMIT_AS, &memory) != 0) return false;
  constexpr rlim_t others = 100;
  return processes.rlim_cur >= others + static_cast<rlim_t>(threads) &&
         memory.rlim_cur == RLIM_INFINITY;
}

}  // namespace

bool is_overcommitted(const Neighbours& neighbours, int threads) {
  return machine::is_overcommitted(
      {.on_units = neighbours.on_cores * threads, .on_host = neighbours.on_host * threads},
      static_cast<int>(machine::usable_units().size()), machine::cpu_quota());
}

ContentionWatch::ContentionWatch(int threads, bool is_overcommitted)
    : threads_(threads),
      overcommitted_(is_overcommitted),
      waited_(machine::seconds_waited()),
      judge_(waited_, machine::own_processor_seconds()) {
  machine::set_contended(judge_.is_contended() || overcommitted_);
  if (auto* const set = spin_setter(); set != nullptr && may_throttle()) set(1);
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {  // no thread is left for it: what is set remains
  }
}

ContentionWatch::~ContentionWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  machine::set_contended(false);
}

bool ContentionWatch::look() {
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, interval, [this] { return stop_; })) return false;
  const double waited = machine::seconds_waited();
  const bool by_others = judge_.judge(waited - waited_, since_look_.restart());
  machine::set_contended(by_others || overcommitted_);
  waited_ = waited;
  return true;
}

void ContentionWatch::hold_threads() {
  const int held = std::max(2, omp_get_num_procs() - threads_ + 2);
  if (!is_room_for(held + threads_)) return;
  std::atomic<bool> released{false};
  machine::on_each_thread(held, [&](int thread, int) {
    if (thread != 0) return released.wait(false);
    while (machine::is_contended() && look()) {
    }
    released = true;
    released.notify_all();
  });
}

void ContentionWatch::watch() {
  omp_set_dynamic(0);
  const bool throttles = threads_ > 1 && may_throttle() && spin_setter() == nullptr;
  do {
    if (machine::is_contended() && throttles) hold_threads();
  } while (look());
}

}  // namespace tessera::inline v1::run
