#pragma once
// Order of a GPU's memory accesses: multiprocessors take blocks as they become free, the warps of
// the resident blocks alternate instruction by instruction, and the lanes of a warp load together.
// The CUDA kernels' own index functions map threads to elements.

#include <string>
#include <vector>

#include "lab/locality/kernels.hpp"

namespace tessera::inline v1::locality {

struct SimulatedGpu {
  index_t multiprocessors = 48;
  index_t l1_bytes = index_t{32} << 10;  ///< per multiprocessor
  index_t l2_bytes = index_t{4} << 20;   ///< shared by all
  index_t threads = 1024;                ///< resident per multiprocessor
  index_t blocks = 16;                   ///< resident per multiprocessor
  index_t sector_bytes = 32;             ///< unit of a fetch
};

/// Parses "48:32KiB:4MiB:1024": multiprocessors, first level, second level, resident threads.
/// Throws Error(usage).
[[nodiscard]] SimulatedGpu parse_gpu(std::string_view text);

/// Sectors requested by loads, of one array or of all.
struct GpuCounts {
  index_t requests = 0;  ///< one per warp load and distinct sector
  index_t l1_hits = 0;
  index_t l2_hits = 0;  ///< among first-level misses
  [[nodiscard]] index_t fetches() const { return requests - l1_hits; }  ///< from the second level
  [[nodiscard]] double l1_rate() const {
    return requests > 0 ? static_cast<double>(l1_hits) / static_cast<double>(requests) : 0;
  }
  [[nodiscard]] double l2_rate() const {
    return fetches() > 0 ? static_cast<double>(l2_hits) / static_cast<double>(fetches()) : 0;
  }
};

struct GpuReport {
  Problem problem;    ///< including the kernel's choices
  index_t block = 0;  ///< threads per block
  std::vector<std::string> arrays;
  std::vector<GpuCounts> counts;  ///< by array
  GpuCounts all;
  double predicted = 0;  ///< fetches by the kernel's formula; 0: no formula
  std::string formula;
  double seconds = 0;
};

/// Returns the kernels of a workload whose thread order can be simulated.
[[nodiscard]] std::vector<std::string> gpu_kernels(std::string_view workload);

/// Throws Error(usage) for kernels, stencils and blocks that simulate() does not support.
void check(const SimulatedGpu& gpu, const Problem& problem, index_t block);

/// Runs a kernel of gpu_kernels() on the problem (matmul: m, n, k; stencil: n wide, m high) with
/// `block` threads per block.
[[nodiscard]] GpuReport simulate(const SimulatedGpu& gpu, const Problem& problem, index_t block);

}  // namespace tessera::inline v1::locality
