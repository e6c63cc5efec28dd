// Bandwidth of reading from each level of the cache, by sums over arrays that the level holds.

#include <algorithm>
#include <atomic>

#include "kernels/memory/bandwidth.hpp"
#include "kernels/memory/memory.hpp"
#include "kernels/memory/probe_leaf.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::memory {
namespace {

constexpr index_t granule = 64;  // doubles that the kernel reads at a time

}  // namespace

std::vector<CacheProbe> cache_probes(int threads) {
  const machine::Caches caches = machine::caches();
  std::vector<CacheProbe> probes{{"read_l1", caches.l1 / 2, index_t{256} << 20}};
  if (caches.l2 >= 4 * caches.l1) probes.push_back({"read_l2", caches.l2 / 2, index_t{96} << 20});
  const index_t last = caches.l3 * caches.l3_instances / (2 * threads);
  if (caches.l3 > caches.l2 && last >= 2 * caches.l2)
    probes.push_back({"read_l3", std::min(last, 3 * caches.l2), index_t{32} << 20});
  return probes;
}

double read_bandwidth(int threads, const CacheProbe& probe) {
  const ProbeKernels& kernels = probe_kernels(machine::isa());
  const index_t each = round_up(probe.bytes / 8, granule);
  const index_t passes = std::max(index_t{1}, probe.volume / (8 * each));
  const machine::Buffer<double> x = touched(threads, each * threads, 1);
  std::atomic<double> sink = 0;  // keeps the sums
  const double bytes = 8.0 * static_cast<double>(each * passes * threads);
  return best_rate(threads, each * threads, bytes, [&](index_t begin, index_t count) {
    double sum = 0;
    for (index_t pass = 0; pass < passes; ++pass) sum += kernels.read(x.data() + begin, count);
    sink.store(sum);
  });
}

}  // namespace tessera::inline v1::memory
