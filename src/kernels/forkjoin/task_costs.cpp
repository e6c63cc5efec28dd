// Measurement of the costs of forks, joins and steals of tasks.

#include "kernels/forkjoin/task_costs.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/timer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {
namespace {

constexpr int pairs = 3000;
constexpr int trees = 100, tree_depth = 8;  // a tree takes some 100 us: short against a time slice
constexpr int steals = 200;
constexpr double steals_budget = 1;  // seconds for all of them on a busy machine

/// Returns the lower decile, or another quantile from below: other processes only add time.
double typical(std::vector<double>& samples, std::size_t part = 10) {
  const auto low = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / part);
  std::nth_element(samples.begin(), low, samples.end());
  return *low;
}

/// A minimal task with a side effect: the compiler drops tasks without one.
class Mark {
 public:
  void operator()() { made_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> made_ = false;
};

/// Seconds to create a task and to wait for it; the task is minimal and mostly runs in the wait.
struct Pair {
  double fork, join;
};
Pair pair_seconds() {
  std::vector<double> forks, joins, clocks;
  Mark mark;
  for (int p = 0; p < pairs; ++p) {
    Timer timer;
    clocks.push_back(timer.restart());
#pragma omp task shared(mark)
    mark();
    forks.push_back(timer.restart());
#pragma omp taskwait
    joins.push_back(timer.restart());
  }
  const double clock = typical(clocks);
  return {std::max(0.0, typical(forks) - clock), std::max(0.0, typical(joins) - clock)};
}

void grow(int depth) {
  if (depth == 0) {
    Mark mark;
    return mark();
  }
  machine::fork_join([=] { grow(depth - 1); }, [=] { grow(depth - 1); });
}

/// Returns the cost of a fork and its join, in seconds of work, when the whole team forks at once
/// and contends.
double shared_pair_seconds() {
  std::vector<double> samples;
  for (int t = 0; t < trees; ++t) {
    const Timer timer;
    grow(tree_depth);
    samples.push_back(timer.seconds() * machine::team() / ((1 << tree_depth) - 1));
  }
  return typical(samples);
}

/// Returns the seconds from a task's creation to its start on another thread.
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
  return typical(samples, 40);  // two threads at once are the scarcest resource of a busy machine
}

}  // namespace

machine::TaskCosts task_costs(int threads) {
  machine::TaskCosts costs;
  const auto measure = [&] {
    const Pair pair = pair_seconds();
    costs.fork = pair.fork;
    costs.join = pair.join;
    if (machine::team() > 1) {
      costs.fork = std::max(costs.fork, shared_pair_seconds() - costs.join);
      costs.steal = steal_seconds();
    }
  };
  machine::parallel(threads, [&] { machine::gather(measure); });
  return costs;
}

}  // namespace tessera::inline v1::forkjoin
