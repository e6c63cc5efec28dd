#pragma once
// The order in which a GPU touches memory: blocks go to multiprocessors as they become free, the
// warps of the resident blocks take turns instruction by instruction, the lanes of a warp together.
// Which element a thread takes is said by the index functions of the CUDA kernels themselves.

#include <string>
#include <vector>

#include "lab/locality/kernels.hpp"

namespace tessera::locality {

struct Gpu {
  index_t multiprocessors = 48;
  index_t l1_bytes = index_t{32} << 10;  ///< of each multiprocessor
  index_t l2_bytes = index_t{4} << 20;   ///< of all
  index_t threads = 1024;                ///< resident on a multiprocessor
  index_t blocks = 16;                   ///< resident on a multiprocessor
  index_t sector_bytes = 32;             ///< what is fetched at once
};

/// "48:32KiB:4MiB:1024": multiprocessors, first level, second level, resident threads. Throws
/// Error(usage).
[[nodiscard]] Gpu parse_gpu(std::string_view text);

/// Sectors asked for by loads, of one array or of all.
struct GpuCounts {
  index_t requests = 0;  ///< by warps: a sector for each that the lanes of one load touch
  index_t l1_hits = 0;
  index_t l2_hits = 0;  ///< of those that missed the first level
  [[nodiscard]] index_t fetches() const { return requests - l1_hits; }  ///< from the second level
  [[nodiscard]] double l1_rate() const {
    return requests > 0 ? static_cast<double>(l1_hits) / static_cast<double>(requests) : 0;
  }
  [[nodiscard]] double l2_rate() const {
    return fetches() > 0 ? static_cast<double>(l2_hits) / static_cast<double>(fetches()) : 0;
  }
};

struct GpuReport {
  Problem problem;    ///< with what the kernel chose itself
  index_t block = 0;  ///< threads a block
  std::vector<std::string> arrays;
  std::vector<GpuCounts> counts;  ///< by array
  GpuCounts all;
  double predicted = 0;  ///< fetches by the formula of the kernel, 0: there is none
  std::string formula;
  double seconds = 0;
};

/// The kernels of a workload whose order of threads can be simulated.
[[nodiscard]] std::vector<std::string> gpu_kernels(std::string_view workload);

/// Throws Error(usage) for what simulate() does not: kernels, stencils, blocks.
void check(const Gpu& gpu, const Problem& problem, index_t block);

/// Runs a kernel of gpu_kernels on the problem (matmul: m, n, k; stencil: n wide, m high), `block`
/// threads a block.
[[nodiscard]] GpuReport simulate(const Gpu& gpu, const Problem& problem, index_t block);

}  // namespace tessera::locality
