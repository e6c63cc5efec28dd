#include "kernels/memory/memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/memory/probe_leaf.hpp"
#include "machine/buffer.hpp"
#include "machine/topology.hpp"

namespace tessera::memory {
namespace {

template <class F>
void for_each_set(const F& f) {
  for (const auto isa : {machine::Isa::baseline, machine::Isa::bits256, machine::Isa::bits512}) {
    if (machine::supports(isa)) f(probe_kernels(isa));
  }
}

TEST(Probes, ReportPlausibleRates) {
  constexpr index_t small = index_t{1} << 20;
  for (const int threads : {1, 2, 3}) {
    EXPECT_GT(fma_peak<float>(threads), 1e8);
    EXPECT_GT(fma_peak<double>(threads), 1e8);
    EXPECT_TRUE(std::isfinite(fma_peak<double>(threads)));
    EXPECT_GT(copy_bandwidth(threads, small), 1e7);
    EXPECT_GT(triad_bandwidth(threads, small), 1e7);
  }
}

TEST(Probes, FmaCountsWhatItComputes) {
  for_each_set([](const ProbeKernels& kernels) {
    double sink = 0.5;
    EXPECT_EQ(kernels.fma_f64(200, &sink) % 400, 0);
    float sink32 = 0.5F;
    EXPECT_EQ(kernels.fma_f32(200, &sink32) % 400, 0);
    // Every chain has converged to x = x / 2 + 1 / 8; a sink contains the sum of 12 or 24 of them.
    EXPECT_TRUE(std::abs(sink - 3) < 1e-9 || std::abs(sink - 6) < 1e-9) << sink;
    EXPECT_NEAR(static_cast<double>(sink32), sink, 1e-4);
  });
}

TEST(Probes, CopyReallyCopiesAndTriadReallyAdds) {
  for_each_set([](const ProbeKernels& kernels) {
    constexpr index_t n = 1024;
    machine::Buffer<double> x(n);
    machine::Buffer<double> y(n);
    machine::Buffer<double> to(n + 8);
    for (index_t i = 0; i < n; ++i) {
      x[i] = static_cast<double>(i);
      y[i] = 2 * x[i] + 1;
    }
    for (double& value : to) value = -1;
    kernels.copy(to.data(), x.data(), n);
    for (index_t i = 0; i < n; ++i) ASSERT_EQ(to[i], x[i]);
    kernels.triad(to.data(), x.data(), 3, y.data(), n);
    for (index_t i = 0; i < n; ++i) ASSERT_EQ(to[i], x[i] + 3 * y[i]);
    for (index_t i = n; i < n + 8; ++i) ASSERT_EQ(to[i], -1);
  });
}

TEST(Probes, ReadAddsEveryElementOnce) {
  for_each_set([](const ProbeKernels& kernels) {
    for (const index_t n : {64, 128, 4096}) {
      machine::Buffer<double> x(n + 64);
      for (index_t i = 0; i < n; ++i) x[i] = static_cast<double>(i + 1);
      for (index_t i = n; i < n + 64; ++i) x[i] = 1e9;
      EXPECT_EQ(kernels.read(x.data(), n), static_cast<double>(n * (n + 1) / 2));
    }
    EXPECT_EQ(kernels.read(nullptr, 0), 0);
  });
}

TEST(Probes, OfCachesFitTheirLevelAndExceedTheSmallerOnes) {
  const machine::Caches caches = machine::caches();
  for (const int threads : {1, 2, 3, 64, 10'000}) {
    index_t smaller = 0;
    for (const CacheProbe& probe : cache_probes(threads)) {
      const std::string level = probe.name;
      const index_t room = level == "read_l1"   ? caches.l1
                           : level == "read_l2" ? caches.l2
                                                : caches.l3 * caches.l3_instances / threads;
      EXPECT_LE(2 * probe.bytes, room) << level;
      EXPECT_GE(probe.bytes, 2 * smaller) << level;
      smaller = level == "read_l1" ? caches.l1 : caches.l2;
    }
  }
}

TEST(Probes, ReadAtAPlausibleRate) {
  for (const int threads : {1, 3})
    for (CacheProbe probe : cache_probes(threads)) {
      probe.volume = 2 * probe.bytes;
      const double rate = read_bandwidth(threads, probe);
      EXPECT_TRUE(std::isfinite(rate) && rate > 1e7) << probe.name << " " << rate;
    }
}

}  // namespace
}  // namespace tessera::memory
