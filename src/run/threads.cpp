#include "run/threads.hpp"

#include <fmt/core.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "machine/cpu_quota.hpp"
#include "machine/fork_join.hpp"
#include "machine/topology.hpp"
#include "run/limits.hpp"

namespace tessera::inline v1::run {
std::optional<index_t> openmp_stack() {
  const char* const value = std::getenv("OMP_STACKSIZE");
  std::string text(trim(value == nullptr ? "" : value));
  if (text.empty()) return {};
  if (std::isdigit(static_cast<unsigned char>(text.back())) != 0)
    text += 'K';  // a bare number is in KiB
  try {
    return parse_bytes(text);
  } catch (const Error&) {
    return {};
  }
}

void require_threads_can_start() {
  require(machine::default_threads() <= most_threads, ExitCode::usage,
          fmt::format("OMP_NUM_THREADS is {}: must be at most {}; unset or lower it",
                      machine::default_threads(), most_threads));
  rlimit stack{};  // also the thread default without OMP_STACKSIZE
  const bool limited = getrlimit(RLIMIT_STACK, &stack) == 0;
  require(!limited || stack.rlim_cur >= rlim_t{least_stack}, ExitCode::memory,
          fmt::format("the stack is limited to {}: recursion needs up to {}; run ulimit -s 8192",
                      human_bytes(static_cast<double>(stack.rlim_cur)), human_bytes(least_stack)));
  const auto of_threads = openmp_stack();
  if (!of_threads) return;
  require(*of_threads >= least_stack, ExitCode::memory,
          fmt::format("OMP_STACKSIZE gives threads {}: recursion needs up to {}; unset it",
                      human_bytes(*of_threads), human_bytes(least_stack)));
  require(ThreadTrial(1, *of_threads).all_run(), ExitCode::memory,
          fmt::format("OMP_STACKSIZE gives threads {}: the system has less; unset it",
                      human_bytes(*of_threads)));
}

void require_threads(int threads) {
  require(threads <= omp_get_thread_limit(), ExitCode::usage,
          fmt::format("--threads {} exceeds OMP_THREAD_LIMIT ({}); unset it, or use fewer threads",
                      threads, omp_get_thread_limit()));
}

void set_thread_default(const Neighbours& neighbours) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(std::max(1, omp_get_max_active_levels()));
  const int limit = omp_get_thread_limit();
  const int cores = std::max(1, machine::topology().cores / neighbours.on_cores);
  const char* const wanted = std::getenv("OMP_NUM_THREADS");
  const bool asked = wanted != nullptr && *wanted != '\0';
  machine::set_default_threads(std::min(
      limit, asked ? machine::default_threads()
                   : machine::busy_threads(cores, neighbours.on_host, machine::cpu_quota())));
}

}  // namespace tessera::inline v1::run
