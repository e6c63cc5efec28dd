// Bandwidth of to = x + s y with streaming stores on all threads (Triad of STREAM, McCalpin 1995):
// two elements read and one written for two operations.

#include "kernels/memory/bandwidth.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/memory/probe_leaf.hpp"

namespace tessera::inline v1::memory {

double triad_bandwidth(int threads, index_t bytes) {
  const ProbeKernels& kernels = probe_kernels(machine::isa());
  const index_t n = round_up(bytes / 8, 8);
  machine::Buffer<double> to = touched(threads, n, 0);
  const machine::Buffer<double> x = touched(threads, n, 1);
  const machine::Buffer<double> y = touched(threads, n, 2);
  return best_rate(
      threads, n, 3.0 * 8.0 * static_cast<double>(n), [&](index_t begin, index_t count) {
        kernels.triad(to.data() + begin, x.data() + begin, 3.0, y.data() + begin, count);
      });
}

}  // namespace tessera::inline v1::memory
