#pragma once
// Traced kernels and their execution.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/traced_problem.hpp"
#include "lab/locality/tracer.hpp"

namespace tessera::inline v1::locality {

using Problem = TracedProblem;

struct TracedKernel {
  std::string_view workload;
  std::string_view kernel;
  std::string_view leaf;  ///< innermost loop: "scalar", "vectors of 64 B", ...
  /// Allocates the arrays, runs the kernel on them into the tracer's sinks and checks the result.
  /// Returns the problem with the kernel's choices filled in. Throws Error(internal) for a wrong
  /// result.
  Problem (*run)(Tracer& tracer, const Problem& problem);
  /// Throws Error(usage) for problems that the traced kernel does not support, as run() does;
  /// nullptr: supports all.
  void (*check)(const Problem& problem) = nullptr;
  bool has_stages = false;  ///< enters stages, which are counted apart
};

[[nodiscard]] std::span<const TracedKernel> traced_kernels();
/// Returns the kernels of a workload, in order.
[[nodiscard]] std::vector<std::string> traced_kernels(std::string_view workload);
[[nodiscard]] const TracedKernel& traced_kernel(std::string_view workload, std::string_view kernel);
/// Throws Error(usage) for problems that cannot be traced.
void check(const Problem& problem);

// Defined in the file of each workload.
[[nodiscard]] std::vector<TracedKernel> matmul_kernels();
[[nodiscard]] std::vector<TracedKernel> transpose_kernels();
[[nodiscard]] std::vector<TracedKernel> sort_kernels();
[[nodiscard]] std::vector<TracedKernel> stencil_kernels();
[[nodiscard]] std::vector<TracedKernel> memory_kernels();

}  // namespace tessera::inline v1::locality
