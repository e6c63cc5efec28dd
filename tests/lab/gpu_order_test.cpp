// The thread order of CUDA: hits and fetches of simulated GPUs, and their formulas.

#include <gtest/gtest.h>

#include <map>

#include "lab/locality/gpu.hpp"

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

TEST(GpuOrder, NaiveHitsOnBroadcastsAlone) {
  // A block of one row: every warp reads its own 4 sectors of B and a common one of A.
  Problem p = problem("matmul", "cuda_naive", 256, 256);
  p.k = 256;
  p.element_bytes = 4;
  SimulatedGpu gpu;
  gpu.multiprocessors = 8;
  gpu.l1_bytes = 4 << 10;
  gpu.threads = 256;
  const GpuReport report = simulate(gpu, p, 256);
  EXPECT_EQ(report.counts[1].requests, 256 * 256 * 256 / 32 * 4);
  EXPECT_NEAR(report.all.l1_rate(), 0.2, 0.01);
  EXPECT_NEAR(static_cast<double>(report.all.fetches()) / report.predicted, 1, 0.01);
}

TEST(GpuOrder, ColumnsHitFarMoreThanRows) {
  for (const index_t width : {32, 64, 128}) {
    Problem p = problem("matmul", "cuda_column", 512, 512);
    p.k = 64;
    p.element_bytes = 4;
    p.column_width = width;
    SimulatedGpu gpu;
    gpu.multiprocessors = 8;
    gpu.threads = 512;  // one block: two would share their rows of B
    const GpuReport column = simulate(gpu, p, 512);
    p.kernel = "cuda_naive";
    EXPECT_GT(column.all.l1_rate(), 0.8) << width;
    EXPECT_LE(static_cast<double>(column.all.fetches()), column.predicted) << width;
    EXPECT_LT(simulate(gpu, p, 512).all.l1_rate(), 0.25);
  }
}

TEST(GpuOrder, BlocksAsWideAsHighFetchLeast) {
  std::map<index_t, double> fetches;
  for (const index_t width : {8, 16, 32, 64, 128}) {
    Problem p = problem("matmul", "cuda_column", 256, 256);
    p.k = 64;
    p.element_bytes = 4;
    p.column_width = width;
    const GpuReport report = simulate({}, p, 1024);
    fetches[width] = static_cast<double>(report.all.fetches());
    EXPECT_LE(fetches[width], report.predicted) << width;
    EXPECT_GE(fetches[width], 0.8 * report.predicted) << width;  // blocks share rows
  }
  for (const auto& [width, found] : fetches) EXPECT_GE(found, fetches[32]) << width;
}

TEST(GpuOrder, TilesFetchWhatTheFormulaSays) {
  Problem p = problem("matmul", "cuda_tiled", 256, 256);
  p.k = 256;
  p.element_bytes = 4;
  const GpuReport report = simulate({}, p, 256);
  EXPECT_NEAR(static_cast<double>(report.all.fetches()) / report.predicted, 1, 0.01);
}

TEST(GpuOrder, NaiveSweepFetchesWhatTheFormulaSays) {
  Problem p = problem("stencil", "cuda_naive", 256, 1024);
  p.element_bytes = 4;
  p.stencil = "box9x9";
  const GpuReport report = simulate({}, p, 256);
  EXPECT_NEAR(static_cast<double>(report.all.fetches()) / report.predicted, 1, 0.02);
}

TEST(GpuOrder, ServesSizesThatAreNoMultiples) {
  for (const std::string& kernel : gpu_kernels("matmul")) {
    Problem p = problem("matmul", kernel, 33, 47);
    p.k = 5;
    p.element_bytes = 4;
    EXPECT_GT(simulate({}, p, 64).all.requests, 0) << kernel;
  }
}

}  // namespace
}  // namespace tessera::locality
