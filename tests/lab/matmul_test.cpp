// Traced matmul kernels: their accesses, and the theory of their misses.

#include <gtest/gtest.h>

#include "kernels/matmul/leaf.hpp"
#include "lab/locality/analysis.hpp"
#include "lab/locality/kernels.hpp"
#include "lab/locality/stack_distance.hpp"

namespace tessera::locality {
namespace {

struct Seen {
  MissCurve curve;
  index_t accesses;
};

Seen trace(const Problem& problem, index_t line_bytes = 64) {
  Tracer tracer;
  StackDistance lru({.line_bytes = line_bytes});
  tracer.attach(lru);
  (void)traced_kernel(problem.workload, problem.kernel).run(tracer, problem);
  return {lru.curve(), lru.accesses()};
}

Problem matmul_problem(const char* kernel, index_t n, index_t tile = 0) {
  return {.workload = "matmul", .kernel = kernel, .m = n, .n = n, .k = n, .tile = tile};
}

TEST(TracedMatmul, ComputesTheProductInEveryKernelAndShape) {
  for (const std::string& kernel : traced_kernels("matmul")) {
    for (const auto& [m, n, k] :
         {std::array<index_t, 3>{1, 1, 1}, {7, 13, 5}, {31, 33, 32}, {130, 140, 20}}) {
      for (const index_t bytes : {4, 8}) {
        Problem p{
            .workload = "matmul", .kernel = kernel, .element_bytes = bytes, .m = m, .n = n, .k = k};
        EXPECT_GT(trace(p).accesses, 0) << kernel;  // a wrong product throws
      }
    }
  }
}

TEST(TracedMatmul, NaiveTouchesWhatItsSourceSays) {
  const double n = 64;
  const Seen seen = trace(matmul_problem("naive", 64));
  EXPECT_EQ(static_cast<double>(seen.accesses), 2 * n * n * n + n * n);
  EXPECT_EQ(seen.curve.compulsory(), 3 * n * n / 8);
}

TEST(TracedMatmul, NaiveMissesAsTheFormulasSay) {
  const double n = 128, line = 8;
  const MissCurve q = trace(matmul_problem("naive", 128)).curve;
  EXPECT_NEAR(q.misses(100) / (n * n * n * (1 + 1 / line) + n * n), 1, 0.001);
  EXPECT_NEAR(q.misses(1024) / (n * n * n / line + 2 * n * n / line), 1, 0.001);
  EXPECT_NEAR(q.misses(1 << 20) / (3 * n * n / line), 1, 0.001);
}

TEST(TracedMatmul, CountsWhatTheLeafReallyLoads) {
  // A step over k loads an element of A per row and a vector of B per vector column of the register
  // block. The rest is packing.
  const auto& block = matmul::leaf_kernels<double>(machine::isa());
  const index_t lanes = machine::isa() == machine::Isa::bits512   ? 8
                        : machine::isa() == machine::Isa::bits256 ? 4
                                                                  : 2;
  const auto loads = static_cast<double>(block.mr + block.nr / lanes);
  const double leaf = 192.0 * 192 * 192 * loads / static_cast<double>(block.mr * block.nr);
  Problem problem = matmul_problem("cache_oblivious", 192);
  problem.pad = 1000;  // rows long enough to be packed
  const Seen seen = trace(problem);
  EXPECT_GT(static_cast<double>(seen.accesses), leaf);
  EXPECT_LT(static_cast<double>(seen.accesses), 1.3 * leaf);
}

TEST(TracedMatmul, SmallProductsAreReadWhereTheyLie) {
  EXPECT_EQ(trace(matmul_problem("cache_oblivious", 96)).curve.compulsory(), 3 * 96 * 96 / 8);
}

Analysis analyse_matmul(const char* kernel, index_t n, index_t tile = 0) {
  AnalysisRequest request;
  request.problem = matmul_problem(kernel, n, tile);
  request.caches = {{.bytes = 32 << 10, .ways = 8}};
  return analyse(request);
}

TEST(MatmulTheorems, HoldExactlyWhereAllConstantsAreKnown) {
  for (const char* kernel : {"naive", "tiled", "transposed", "transposed_tiled", "column"}) {
    const Analysis a = analyse_matmul(kernel, 128);
    EXPECT_NEAR(a.fitted->constant, 1, 0.001) << kernel;
    for (const index_t lines : {19, 64, 108, 215, 256, 1024, 8192}) {
      EXPECT_NEAR(a.curve.misses(lines) / a.theorem->misses(lines), 1, 0.002)
          << kernel << ", " << lines;
    }
  }
}

TEST(MatmulTheorems, WidthsAreSolvedFromTheCache) {
  // Z = n (w + 1) allows 31 in 256 lines; three columns of 24 are as few as three of 31. 64 lines
  // hold 6, less than a line; 4096 hold the whole problem.
  const index_t n = 64, line_bytes = 64;
  Problem p = matmul_problem("column", n);
  for (const auto& [lines, width] :
       {std::pair<index_t, index_t>{64, 0}, {128, 8}, {256, 24}, {4096, 0}})
    EXPECT_EQ(best_width(p, line_bytes, lines), width) << lines;
  for (const index_t lines : {128, 256}) {
    p.column_width = best_width(p, line_bytes, lines);
    const double best = trace(p).curve.misses(lines);
    for (const index_t other : {1, 4, 8, 16, 24, 30, 31, 32, 40, 48, 64}) {
      p.column_width = other;
      EXPECT_LE(best, trace(p).curve.misses(lines)) << other << ", " << lines;
    }
  }
  for (const char* kernel : {"naive", "recursive", "tiled", "cache_oblivious"})
    EXPECT_EQ(best_width(matmul_problem(kernel, n, 8), line_bytes, 256), 0) << kernel;
}

TEST(MatmulTheorems, RecursiveMissesFallWithTheRootOfTheCache) {
  const Analysis a = analyse_matmul("recursive", 256);
  EXPECT_NEAR(a.fitted->exponent, -0.5, 0.02);
  EXPECT_LT(a.fitted->constant, 6.5);
  EXPECT_LT(a.fitted->tall_from, 16);
}

TEST(Analysis, SplitsMissesIntoThreeKindsThatAddUp) {
  const Analysis a = analyse_matmul("tiled", 128);
  const CacheReport& cache = a.caches[0];
  double sum = 0;
  for (const MissKinds& s : cache.arrays) sum += s.compulsory + s.capacity + s.conflict;
  EXPECT_EQ(sum, cache.all.misses());
  EXPECT_EQ(cache.all.misses(), static_cast<double>(cache.behind));
  EXPECT_GT(cache.all.conflict, 10 * cache.all.capacity) << "rows of 1 KiB meet in one set";
}

TEST(Analysis, PaddedRowsTakeTheConflictsAway) {
  AnalysisRequest request;
  request.problem = matmul_problem("tiled", 128);
  request.problem.pad = 8;
  request.caches = {{.bytes = 32 << 10, .ways = 8}};
  const CacheReport cache = analyse(request).caches[0];
  EXPECT_LT(cache.all.conflict, 0.2 * cache.all.capacity);
}

}  // namespace
}  // namespace tessera::locality
