// Measures the sort throughput of this rank, for shares by speed.

#include "base/timer.hpp"
#include "kernels/sort/inputs.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

constexpr double long_enough = 0.05;  // seconds

template <class T>
double seconds_of(const Problem& problem, index_t n) {
  machine::Buffer<T> keys(n), spare(n);
  machine::parallel(problem.method.threads, [&] {
    tessera::sort::generate<T>(tessera::sort::input("uniform"), 1, 0, n, keys.span());
  });
  mpi::Phases phases;
  const Timer timer;
  (void)dist::sort::sort_keys(mpi::Communicator::self(),
                              dist::sort::Room<T>{keys.data(), spare.data(), n},
                              problem.by.front().order, problem.method, phases);
  return timer.seconds();
}

template <class T>
double speed(const Problem& problem) {
  const index_t most = std::clamp<index_t>(problem.n, 1, 1 << 24);  // 64 MiB of the smallest keys
  for (index_t n = std::min<index_t>(most, 1 << 18);; n = std::min(most, 4 * n)) {
    const double first = seconds_of<T>(problem, n);  // may start libraries and a device
    const double seconds = std::min(first, seconds_of<T>(problem, n));
    if (seconds > long_enough || n == most) return static_cast<double>(n) / seconds;
  }
}

}  // namespace

double speed_of(const Problem& problem) {
  return dispatch_element(*problem.by.front().form.number,
                          [&]<class T>(Type<T>) { return speed<T>(problem); });
}

}  // namespace tessera::inline v1::workloads::sort
