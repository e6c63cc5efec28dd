#pragma once
// The kernels that run on paper: the steps of the CUDA ladders, warp by warp.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/traced_problem.hpp"
#include "kernels/memory/device_probes.hpp"
#include "lab/paper/meter.hpp"

namespace tessera::inline v1::paper {

/// What a kernel is run on.
struct Request {
  TracedProblem problem;          ///< memory: n words
  memory::DeviceWalk walk = {};   ///< parameters of memory's probes
  index_t block = 256;            ///< threads per block of kernels with one thread per result
  index_t multiprocessors = 132;  ///< for launches that fill the device
};

struct PaperKernel {
  std::string_view workload;
  std::string_view name;  ///< as the CUDA kernel's, if there is one
  /// Registers of a thread by element size, as nvcc 13.0 compiles the CUDA kernel for 9.0
  /// (stencils: those of radius 1); those of cuda_divergence for the switches, which are on paper
  /// only.
  index_t registers32, registers64;
  /// Runs all blocks and checks the result. Sets the choices of the kernel in the request. Throws
  /// Error(internal) for a wrong result.
  void (*run)(Meter& meter, Request& request);
  /// Throws Error(usage) for requests that the kernel does not support; nullptr: supports all.
  void (*check)(const Request& request) = nullptr;
};

[[nodiscard]] std::span<const PaperKernel> paper_kernels();
/// Returns the names of a workload's kernels, in order.
[[nodiscard]] std::vector<std::string> paper_kernels(std::string_view workload);
/// Throws Error(usage), naming the nearest, for unknown kernels.
[[nodiscard]] const PaperKernel& paper_kernel(std::string_view workload, std::string_view name);

// Defined in the file of each workload.
[[nodiscard]] std::vector<PaperKernel> transpose_kernels();
[[nodiscard]] std::vector<PaperKernel> matmul_kernels();
[[nodiscard]] std::vector<PaperKernel> stencil_kernels();
[[nodiscard]] std::vector<PaperKernel> memory_kernels();
[[nodiscard]] std::vector<PaperKernel> branch_kernels();

/// Throws Error(internal) unless the result is right.
void require_right(bool right, std::string_view kernel);

}  // namespace tessera::inline v1::paper
