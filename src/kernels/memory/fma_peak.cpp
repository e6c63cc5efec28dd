// Peak arithmetic rate: independent chains of fused multiply-add in registers, on one thread and on
// all.

#include <algorithm>
#include <atomic>

#include "base/timer.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/memory/probe_leaf.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::memory {
namespace {

constexpr int runs = 5;
constexpr index_t rounds =
    200'000;  // about a millisecond: long against the start of a team, short against a time slice

template <class T>
index_t one_thread(const ProbeKernels& kernels) {
  T sink{1};
  if constexpr (sizeof(T) == 4) {
    return kernels.fma_f32(rounds, &sink);
  } else {
    return kernels.fma_f64(rounds, &sink);
  }
}

}  // namespace

template <class T>
double fma_peak(int threads) {
  const ProbeKernels& kernels = probe_kernels(machine::isa());
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    std::atomic<index_t> operations = 0;
    const Timer timer;
    machine::on_each_thread(threads, [&](int, int) { operations += one_thread<T>(kernels); });
    best = std::max(best, static_cast<double>(operations.load()) / timer.seconds());
  }
  return best;
}

template double fma_peak<float>(int);
template double fma_peak<double>(int);

}  // namespace tessera::inline v1::memory
