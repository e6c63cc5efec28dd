// Bandwidth by the size of the working set: loads and ordinary stores over the same data again.

#include <algorithm>
#include <atomic>

#include "kernels/memory/bandwidth.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/memory/probe_leaf.hpp"

namespace tessera::inline v1::memory {
namespace {

constexpr index_t granule = 64;                // doubles that the read kernel takes at a time
constexpr index_t volume = index_t{16} << 20;  // bytes of a thread in a run: milliseconds

}  // namespace

double working_set_bandwidth(Traffic traffic, int threads, index_t bytes) {
  const ProbeKernels& kernels = probe_kernels(machine::isa());
  const int arrays = traffic == Traffic::copy ? 2 : 1;
  const index_t each = std::max(granule, bytes / (8 * arrays * threads) / granule * granule);
  const index_t passes = std::max<index_t>(1, volume / (8 * each));
  machine::Buffer<double> to = touched(threads, each * threads, 0);
  const machine::Buffer<double> from = touched(threads, arrays > 1 ? each * threads : 0, 1);
  std::atomic<double> sink = 0;  // keeps the sums
  const auto pass = [&](index_t begin, index_t count) {
    double* const mine = to.data() + begin;
    if (traffic == Traffic::copy) return kernels.copy_cached(mine, from.data() + begin, count);
    if (traffic == Traffic::write) return kernels.fill(mine, 2, count);
    sink.store(kernels.read(mine, count), std::memory_order_relaxed);
  };
  const double moved = 8.0 * arrays * static_cast<double>(each * passes * threads);
  return best_rate(threads, each * threads, moved, [&](index_t begin, index_t count) {
    for (index_t p = 0; p < passes; ++p) {
      pass(begin, count);
      asm volatile("" ::: "memory");  // no pass is superfluous to the compiler
    }
  });
}

}  // namespace tessera::inline v1::memory
