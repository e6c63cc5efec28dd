#include "kernels/forkjoin/task_costs.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/timer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::forkjoin {
namespace {

// A batch is short beside a time slice and below the number of waiting tasks (64 a thread) beyond which
// libgomp runs new ones at once.
constexpr int batch = 32;
constexpr int batches = 300;
constexpr int steals = 200;
constexpr double steals_budget = 0.5;  // seconds for all of them where the machine is busy

/// The lower decile: other processes only add.
double typical(std::vector<double>& samples) {
  const auto low = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 10);
  std::nth_element(samples.begin(), low, samples.end());
  return *low;
}

/// Next to no work, but an effect: the compiler drops tasks without one.
class Mark {
 public:
  void operator()() { made_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> made_ = false;
};

/// Seconds to make one of a batch of empty tasks; waiting for them does not count.
double fork_seconds() {
  std::vector<double> samples;
  Mark mark;
  for (int b = 0; b < batches; ++b) {
    const Timer timer;
    for (int t = 0; t < batch; ++t) {
#pragma omp task shared(mark)
      mark();
    }
    samples.push_back(timer.seconds() / batch);
#pragma omp taskwait
  }
  return typical(samples);
}

/// Seconds of a fork and its join, both sides empty.
double pair_seconds() {
  std::vector<double> samples;
  Mark left, right;
  for (int b = 0; b < batches; ++b) {
    const Timer timer;
    for (int t = 0; t < batch; ++t) machine::fork_join(left, right);
    samples.push_back(timer.seconds() / batch);
  }
  return typical(samples);
}

/// Seconds from a task's making to its begin on another thread.
double steal_seconds() {
  std::vector<double> samples;
  const Timer total;
  for (int s = 0; s < steals && total.seconds() < steals_budget; ++s) {
    std::atomic<double> begun = -1;
    const Timer timer;
#pragma omp task shared(begun, timer)
    begun.store(timer.seconds(), std::memory_order_release);
    while (begun.load(std::memory_order_acquire) < 0 && timer.seconds() < steal_patience) {
    }
    const double seen = begun.load(std::memory_order_acquire);
    samples.push_back(seen < 0 ? steal_patience : seen);
#pragma omp taskwait
  }
  return typical(samples);
}

}  // namespace

machine::TaskCosts task_costs(int threads) {
  machine::TaskCosts costs;
  machine::parallel(threads, [&] {
    costs.fork = fork_seconds();
    costs.join = std::max(0.0, pair_seconds() - costs.fork);
    if (machine::team() > 1) costs.steal = steal_seconds();
  });
  return costs;
}

}  // namespace tessera::forkjoin
