// Traced transposes, sorts and stencils, and diagrams: accesses, and the theory of the misses.
// Wrong results of a traced kernel throw.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "kernels/stencil/remap.hpp"
#include "lab/locality/analysis.hpp"
#include "lab/locality/diagram.hpp"

namespace tessera::locality {
namespace {

Problem problem(const char* workload, const std::string& kernel, index_t m, index_t n) {
  Problem p;
  p.workload = workload;
  p.kernel = kernel;
  p.m = m;
  p.n = n;
  return p;
}

Analysis analysis_of(const Problem& p) {
  AnalysisRequest request;
  request.problem = p;
  request.caches = {{.bytes = 32 << 10, .ways = 8}};
  return analyse(request);
}

const std::vector<std::array<index_t, 2>> shapes{{1, 1},   {1, 9},   {7, 5},
                                                 {31, 33}, {64, 40}, {127, 130}};

TEST(TracedTranspose, IsRightInEveryKernelAndShape) {
  for (const std::string& kernel : traced_kernels("transpose")) {
    for (const auto& [m, n] : shapes) {
      for (const index_t bytes : {4, 8}) {
        Problem p = problem("transpose", kernel, m, n);
        p.element_bytes = bytes;
        EXPECT_GE(analysis_of(p).loads, 1) << kernel;
      }
    }
  }
}

TEST(TracedTranspose, MissesOnceALineInTallCaches) {
  for (const char* kernel : {"recursive", "cache_oblivious"}) {
    for (const auto& [m, n] : {std::array<index_t, 2>{512, 512}, {768, 256}, {1000, 1000}}) {
      const Analysis a = analysis_of(problem("transpose", kernel, m, n));
      const double once = 2.0 * static_cast<double>(m) * static_cast<double>(n) / 8;
      for (const index_t lines : {32, 128, 1024})
        EXPECT_NEAR(a.curve.misses(lines) / once, 1, 0.05) << kernel;
    }
  }
}

TEST(TracedTranspose, NaiveMissesAsTheFormulaSays) {
  const Analysis a = analysis_of(problem("transpose", "naive", 512, 512));
  EXPECT_NEAR(a.fitted->constant, 1, 0.001);
  EXPECT_NEAR(a.curve.misses(256) / (512 * 512 * 1.125), 1, 0.001);
}

TEST(TracedTranspose, StripsThatDoNotBeginAtLinesFetchLinesTwice) {
  for (const auto& [m, n] : {std::array<index_t, 2>{400, 333}, {256, 512}}) {
    for (const index_t width : {2, 4, 7, 16, 20, 32}) {
      Problem p = problem("transpose", "column", m, n);
      p.element_bytes = 4;
      p.column_width = width;
      const Analysis a = analysis_of(p);
      for (const index_t lines : {64, 128, 8192})
        EXPECT_NEAR(a.curve.misses(lines) / a.fitted->predicted(*a.theorem, lines), 1, 0.05)
            << n << " in strips of " << width << ", " << lines;
    }
  }
}

Problem sorting(const std::string& kernel, index_t n, index_t range) {
  Problem p = problem("sort", kernel, 1, n);
  p.element_bytes = kernel == "radix" ? 8 : 16;
  p.range = range;
  return p;
}

TEST(TracedSort, SortsInEveryKernel) {
  for (const std::string& kernel : traced_kernels("sort")) {
    for (const index_t n : {0, 1, 2, 1000}) {
      for (const index_t range : {1, 7, 100000})
        EXPECT_GE(analysis_of(sorting(kernel, n, range)).loads, 0);
    }
  }
}

TEST(TracedSort, SortsKeysOfBothWidths) {
  for (const std::string& kernel : traced_kernels("sort")) {
    for (const index_t bytes : {4, 8}) {
      Problem p = problem("sort", kernel, 1, 9000);
      p.element_bytes = bytes;
      EXPECT_GT(analysis_of(p).loads, p.n) << kernel;
    }
  }
}

TEST(TracedSort, BucketsKeepCountersAndOutputInCache) {
  // As the formula says once counters and output of a bucket fit; without buckets, far more.
  const Analysis bucketed = analysis_of(sorting("counting_bucketed", 200000, 1 << 18));
  const Analysis plain = analysis_of(sorting("counting", 200000, 1 << 18));
  EXPECT_NEAR(bucketed.curve.misses(4096) / bucketed.theorem->misses(4096), 1, 0.02);
  EXPECT_GT(plain.curve.misses(4096), 2 * bucketed.curve.misses(4096));
}

TEST(TracedSort, BucketsMissAsTheFormulaSays) {
  for (const auto& [n, range] :
       {std::pair<index_t, index_t>{20000, 4096}, {200000, index_t{1} << 18}, {60000, 100000}}) {
    for (const index_t bytes : {4, 8, 16}) {
      Problem p = sorting("counting_bucketed", n, range);
      p.element_bytes = bytes;
      const Analysis a = analysis_of(p);
      EXPECT_NEAR(a.fitted->constant, 1, 0.05)
          << n << " items of " << bytes << " bytes, " << range << " keys";
    }
  }
}

TEST(TracedSort, StagesAddUpToTheWhole) {
  for (const char* kernel : {"counting", "counting_bucketed"}) {
    for (const index_t bytes : {4, 16}) {
      Problem p = sorting(kernel, 30000, 5000);
      p.element_bytes = bytes;
      const Analysis a = analysis_of(p);
      ASSERT_EQ(a.stages, (std::vector<std::string>{"preprocessing", "sorting"})) << kernel;
      for (const index_t lines : {1, 64, 1024, 1 << 16})
        EXPECT_EQ(a.stage_curves[0].misses(lines) + a.stage_curves[1].misses(lines),
                  a.curve.misses(lines));
    }
  }
  EXPECT_TRUE(analysis_of(sorting("quicksort", 1000, 100)).stages.empty());
}

TEST(TracedSort, CountingMissesAsTheFormulaSays) {
  const Analysis a = analysis_of(sorting("counting", 300000, 1 << 16));
  EXPECT_NEAR(a.curve.misses(64) / a.theorem->misses(64), 1, 0.02);
}

constexpr index_t many = 50000;

/// Returns the analysis of a sort, computed once for all tests.
const Analysis& sorted_keys(std::string_view workload, std::string_view kernel, index_t n) {
  static std::map<std::string, Analysis> known;
  const std::string of(workload), by(kernel);
  const auto [found, fresh] = known.try_emplace(of + by + std::to_string(n));
  if (fresh) {
    Problem p = problem(of.c_str(), by, 1, n);
    p.tile = 1000;
    found->second = analysis_of(p);
  }
  return found->second;
}

TEST(TracedSort, ProbesSortToo) {
  for (const std::string& kernel : traced_kernels("forkjoin")) {
    for (const index_t n : {0, 1, 2, 100, 5000})
      EXPECT_GE(sorted_keys("forkjoin", kernel, n).loads, 0) << kernel;
  }
}

TEST(SortTheorems, MergeSortPassesOverBothArraysOnceALevelThatDoesNotFit) {
  for (const auto& [workload, kernel] : {std::pair{"sort", "mergesort"},
                                         {"forkjoin", "mergesort_serial_merge"},
                                         {"forkjoin", "mergesort_parallel_merge"}}) {
    const Analysis& a = sorted_keys(workload, kernel, many);
    EXPECT_NEAR(a.fitted->constant, 1, 0.1) << kernel;
    for (const index_t lines : {64, 512, 1024})
      EXPECT_NEAR(a.curve.misses(lines) / a.fitted->predicted(*a.theorem, lines), 1, 0.06)
          << kernel;
  }
}

TEST(SortTheorems, AParallelMergeCostsNoMissesWorthTheName) {
  const Analysis& serial = sorted_keys("forkjoin", "mergesort_serial_merge", many);
  const Analysis& parallel = sorted_keys("forkjoin", "mergesort_parallel_merge", many);
  for (const index_t lines : {64, 512, 1024})
    EXPECT_NEAR(parallel.curve.misses(lines) / serial.curve.misses(lines), 1, 0.03);
}

TEST(SortTheorems, QuicksortPassesOverOneArrayALevelThatDoesNotFit) {
  for (const auto& [workload, kernel] :
       {std::pair{"sort", "quicksort"}, {"sort", "std"}, {"forkjoin", "quicksort"}}) {
    const Analysis& a = sorted_keys(workload, kernel, many);
    EXPECT_GT(a.fitted->constant, 1) << kernel << ": medians cannot be beaten";
    EXPECT_LT(a.fitted->constant, 1.8) << kernel;
    for (const index_t lines : {64, 512})
      EXPECT_NEAR(a.curve.misses(lines) / a.fitted->predicted(*a.theorem, lines), 1, 0.1) << kernel;
  }
}

TEST(SortTheorems, FunnelsAndBucketsMissLessThanMerges) {
  const Analysis& merges = sorted_keys("sort", "mergesort", many);
  for (const char* kernel : {"cache_oblivious", "samplesort"}) {
    const Analysis& a = sorted_keys("sort", kernel, many);
    for (const index_t lines : {512, 1024})
      EXPECT_LT(a.curve.misses(lines), 0.8 * merges.curve.misses(lines)) << kernel;
  }
}

TEST(SortTheorems, RadixPassesOverTheDataThreeTimes) {
  const Analysis& a = sorted_keys("sort", "radix", 200000);
  EXPECT_NEAR(a.curve.misses(12000) / (3 * 200000.0 / 8), 1, 0.05);
  EXPECT_EQ(a.theorem->misses(12000), 3 * 200000.0 / 8);
  EXPECT_NEAR(a.curve.misses(32000) / (200000.0 / 8), 1.1,
              0.05);  // the data once, plus what stays cached
}

TEST(SortTheorems, MissesAreToldByLevelOfTheRecursion) {
  const Analysis& a = sorted_keys("sort", "mergesort", many);
  const auto& levels = a.caches.front().by_level;  // 32 KiB: parts of 1563 keys fit
  ASSERT_EQ(levels.size(), 6u);
  for (std::size_t level = 0; level < 5; ++level)
    EXPECT_NEAR(levels[level].compulsory + levels[level].capacity, 2.0 * many / 8, 100) << level;
}

TEST(TracedStencil, IsRightInEveryKernelAndShape) {
  for (const std::string& kernel : traced_kernels("stencil")) {
    for (const char* name : {"box3x3", "box7x7", "heat", "star2"}) {
      for (const auto& [m, n] : {std::array<index_t, 2>{2, 1}, {16, 16}, {37, 129}}) {
        for (const index_t steps : {1, 4}) {
          Problem p = problem("stencil", kernel, m, n);
          p.stencil = name;
          p.steps = steps;
          p.tile = n > 100 ? 8 : 0;
          EXPECT_GE(analysis_of(p).loads, 1) << kernel << " " << name;
        }
      }
    }
  }
}

/// Points written by a kernel in one step, in order, numbered row by row; a vector store counts as
/// a store of each of its points.
class Written final : public Sink {
 public:
  explicit Written(const Tracer& tracer) : tracer_(tracer) {}
  void take(std::span<const Access> accesses) override {
    for (const Access a : accesses)
      if (a.is_store() && tracer_.arrays()[a.array()] == "v") {
        for (unsigned byte = 0; byte < a.bytes(); byte += sizeof(double))
          addresses_.push_back(a.address() + byte);
      }
  }
  [[nodiscard]] std::vector<index_t> points() const {
    std::vector<std::uint64_t> sorted = addresses_;
    std::sort(sorted.begin(), sorted.end());
    std::vector<index_t> result;
    for (const std::uint64_t address : addresses_)
      result.push_back(std::lower_bound(sorted.begin(), sorted.end(), address) - sorted.begin());
    return result;
  }

 private:
  const Tracer& tracer_;
  std::vector<std::uint64_t> addresses_;
};

std::vector<index_t> order_of(const Problem& p) {
  Tracer tracer;
  Written written(tracer);
  tracer.attach(written);
  (void)traced_kernel(p.workload, p.kernel).run(tracer, p);
  return written.points();
}

TEST(TracedStencil, ColumnsOfAnyWidthAreWalkedAsTheyAreNamed) {
  for (const char* name : {"box3x3", "heat"}) {
    for (const auto& [m, n] : {std::array<index_t, 2>{16, 16}, {7, 130}, {5, 1}, {2, 200}}) {
      Problem p = problem("stencil", "naive", m, n);
      p.stencil = name;
      const auto naive = order_of(p);
      for (const index_t width : {1, 3, 8, 16, 63, 64, 65, 128, 1000}) {
        p.column_width = width;
        for (const auto& [kernel, order] :
             {std::pair{"column", stencil::Order::column}, {"zigzag", stencil::Order::zigzag}}) {
          p.kernel = kernel;
          std::vector<index_t> want;
          for (index_t i = 0; i < m * n; ++i) {
            const stencil::Place at = stencil::place_of<index_t>(order, i, width, n, m);
            want.push_back(at.y * n + at.x);
          }
          EXPECT_EQ(order_of(p), want) << kernel << " " << width << " of " << m << " x " << n;
          if (m == 16 && width == 8) {
            EXPECT_NE(order_of(p), naive) << kernel;
          }
        }
      }
    }
  }
}

TEST(TracedStencil, SweepsMissAsTheFormulaSays) {
  Problem p = problem("stencil", "naive", 64, 512);
  p.stencil = "box3x3";
  EXPECT_NEAR(analysis_of(p).fitted->constant, 1, 0.05);
}

TEST(TracedStencil, ColumnsAndTilesMissAsTheFormulasSay) {
  for (const char* kernel : {"column", "tiled"}) {
    for (const char* name : {"box3x3", "box7x7"}) {
      Problem p = problem("stencil", kernel, 256, 256);
      p.stencil = name;
      p.steps = 4;
      p.tile = p.column_width = 32;
      const Analysis a = analysis_of(p);
      ASSERT_TRUE(a.theorem.has_value()) << kernel;
      for (const index_t lines : {64, 128, 256})  // rows of a block stay cached, blocks do not
        EXPECT_NEAR(a.curve.misses(lines) / a.theorem->misses(lines), 1, 0.05)
            << kernel << " " << name;
    }
  }
}

TEST(TracedStencil, TrapezoidsFallWithTheCacheAsTheTheoremSays) {
  Problem p = problem("stencil", "cache_oblivious", 1, 4096);
  p.stencil = "heat";
  p.steps = 512;
  p.tile = 16;
  EXPECT_NEAR(analysis_of(p).fitted->exponent, -1, 0.1) << "one dimension";
  p = problem("stencil", "cache_oblivious", 256, 256);
  p.stencil = "heat";
  p.steps = 32;
  p.tile = 4;
  EXPECT_NEAR(analysis_of(p).fitted->exponent, -0.5, 0.1) << "two";
}

TEST(TracedStencil, TrapezoidsUseALineManyTimes) {
  Problem p = problem("stencil", "naive", 1, 8192);
  p.stencil = "heat";
  p.steps = 128;
  const double sweeps = analysis_of(p).curve.misses(256);
  p.kernel = "cache_oblivious";
  p.tile = 64;
  EXPECT_LT(analysis_of(p).curve.misses(256), sweeps / 10);
}

TEST(Diagram, KeepsEveryAccessOfASmallRun) {
  Problem p = problem("matmul", "naive", 8, 8);
  p.k = 8;
  Diagram diagram(4, 32, 5000);
  AnalysisRequest request;
  request.problem = p;
  request.line_bytes = 32;
  request.caches = {{.bytes = 4 * 32, .ways = 0, .line_bytes = 32}};
  request.others = {&diagram};
  const Analysis a = analyse(request);
  EXPECT_TRUE(diagram.exact());
  EXPECT_EQ(static_cast<index_t>(diagram.marks().size()), a.loads + a.stores);
  index_t fetched = 0;
  for (const Mark& mark : diagram.marks()) fetched += mark.fetched ? 1 : 0;
  EXPECT_EQ(static_cast<double>(fetched), a.caches[0].all.misses()) << "one cache, seen twice";
  EXPECT_EQ(static_cast<index_t>(diagram.stays().size()), fetched);
}

TEST(Diagram, BinsALargeOneWithoutLosingATouch) {
  Diagram diagram(16, 64, 100);
  AnalysisRequest request;
  request.problem = problem("transpose", "naive", 128, 128);
  request.caches = {{.bytes = 16 * 64, .ways = 0}};
  request.others = {&diagram};
  const Analysis a = analyse(request);
  EXPECT_FALSE(diagram.exact());
  index_t touches = 0, fetched = 0;
  for (const DensityCell& cell : diagram.density().cells)
    touches += cell.touches, fetched += cell.fetched;
  EXPECT_EQ(touches, a.loads + a.stores);
  EXPECT_EQ(static_cast<double>(fetched), a.caches[0].all.misses());
}

}  // namespace
}  // namespace tessera::locality
