// Traced walks over arrays: accesses, misses by the theorem, and arrays that begin between lines.
// Wrong results of a traced walk throw.

#include <gtest/gtest.h>

#include "lab/locality/analysis.hpp"

namespace tessera::locality {
namespace {

AnalysisRequest walk(const char* kernel, index_t m, index_t n) {
  AnalysisRequest request;
  request.problem.workload = "memory";
  request.problem.kernel = kernel;
  request.problem.m = m;
  request.problem.n = n;
  request.caches = {{.bytes = 32 << 10, .ways = 8}};
  return request;
}

TEST(TracedWalks, TouchEveryElementInEveryShape) {
  for (const std::string& kernel : traced_kernels("memory")) {
    for (const auto& [m, n] : {std::array<index_t, 2>{0, 5}, {1, 1}, {1, 97}, {31, 33}, {40, 8}}) {
      for (const index_t bytes : {4, 8}) {
        for (const index_t pad : {0, 3}) {
          AnalysisRequest request = walk(kernel.c_str(), m, n);
          request.problem.element_bytes = bytes;
          request.problem.pad = pad;
          const Analysis a = analyse(request);
          EXPECT_EQ(a.loads, m * n * (kernel == "add" ? 2 : 1)) << kernel;
          EXPECT_EQ(a.stores, kernel == "rows" || kernel == "columns" ? 0 : m * n) << kernel;
        }
      }
    }
  }
}

TEST(TracedWalks, MissAsTheTheoremSays) {
  for (const std::string& kernel : traced_kernels("memory")) {
    const Analysis a = analyse(walk(kernel.c_str(), 96, 128));
    for (const index_t lines : {1, 2, 3, 95, 96, 1000}) {
      EXPECT_EQ(a.curve.misses(lines), a.theorem->misses(lines)) << kernel << ", " << lines;
    }
    EXPECT_EQ(a.fitted->constant, 1) << kernel;
  }
}

TEST(TracedWalks, ScanningBetweenLinesFetchesOneMore) {
  for (const index_t n : {9, 15, 63, 1001}) {
    AnalysisRequest request = walk("copy", 1, n);
    request.alignment = 8;
    const Analysis a = analyse(request);
    ASSERT_EQ(a.begins[1], 8 * n);
    const index_t offset = n % 8, lines = (offset + n + 7) / 8;  // b begins there, before a ends
    EXPECT_EQ(a.array_curves[1].misses(1000), lines) << n;
    EXPECT_LE(lines, (n + 7) / 8 + 1);
    EXPECT_EQ(a.curve.misses(1000), (2 * n + 7) / 8) << n;  // a common line counts once
  }
}

TEST(TracedWalks, ArraysOfAPageAreCountedApart) {
  AnalysisRequest request = walk("add", 1, 10);
  request.alignment = 64;
  const Analysis a = analyse(request);
  ASSERT_EQ(a.arrays.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(a.array_curves[i].misses(100), 2) << a.arrays[i];
}

TEST(TracedWalks, RefuseAlignmentsBetweenElements) {
  AnalysisRequest request = walk("copy", 1, 8);
  request.alignment = 12;
  EXPECT_THROW((void)analyse(request), Error);
}

}  // namespace
}  // namespace tessera::locality
