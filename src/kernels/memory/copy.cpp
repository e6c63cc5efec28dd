// Bandwidth of a copy with streaming stores on all threads (Copy of STREAM, McCalpin 1995): every
// element is read once and written once.

#include "kernels/memory/bandwidth.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/memory/probe_leaf.hpp"

namespace tessera::inline v1::memory {

double copy_bandwidth(int threads, index_t bytes) {
  const ProbeKernels& kernels = probe_kernels(machine::isa());
  const index_t n = round_up(bytes / 8, 8);
  machine::Buffer<double> to = touched(threads, n, 0);
  const machine::Buffer<double> from = touched(threads, n, 1);
  return best_rate(threads, n, 2.0 * 8.0 * static_cast<double>(n),
                   [&](index_t begin, index_t count) {
                     kernels.copy(to.data() + begin, from.data() + begin, count);
                   });
}

}  // namespace tessera::inline v1::memory
