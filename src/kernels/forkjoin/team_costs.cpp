#include "kernels/forkjoin/team_costs.hpp"

#include <algorithm>
#include <vector>

#include "base/timer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {
namespace {

constexpr int batches = 100, in_a_batch = 20;  // a batch is short against a time slice
constexpr double budget = 0.5;                 // seconds of regions, on a busy machine

/// Returns the lower decile: other processes only add time.
double typical(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 10];
}

std::vector<double> regions(int threads) {
  std::vector<double> samples;
  const Timer total;
  for (int batch = 0; batch < batches && (batch < 3 || total.seconds() < budget); ++batch) {
    const Timer timer;
    for (int i = 0; i < in_a_batch; ++i) machine::on_each_thread(threads, [](int, int) {});
    samples.push_back(timer.seconds() / in_a_batch);
  }
  return samples;
}

/// Measures barriers within one region, on its first thread.
std::vector<double> barriers(int threads) {
  std::vector<double> samples;
  machine::on_each_thread(threads, [&](int thread, int) {
    for (int batch = 0; batch < batches; ++batch) {
#pragma omp barrier
      const Timer timer;
      for (int i = 0; i < in_a_batch; ++i) {
#pragma omp barrier
      }
      if (thread == 0) samples.push_back(timer.seconds() / in_a_batch);
    }
  });
  return samples;
}

}  // namespace

TeamCosts team_costs(int threads) {
  return {typical(regions(threads)), typical(barriers(threads))};
}

}  // namespace tessera::inline v1::forkjoin
