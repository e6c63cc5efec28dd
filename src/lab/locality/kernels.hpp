#pragma once
// The kernels that can be traced, and how to run one.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/traced_problem.hpp"
#include "lab/locality/tracer.hpp"

namespace tessera::locality {

using Problem = TracedProblem;

struct TracedKernel {
  std::string_view workload;
  std::string_view kernel;
  std::string_view leaf;  ///< what the innermost loop is: "scalar", "vectors of 64 B", ...
  /// Makes the arrays, runs the kernel on them into the tracer's sinks and checks what it computed.
  /// Returns the problem with what the kernel chose itself filled in. Throws Error(internal) when
  /// the result is wrong.
  Problem (*run)(Tracer& tracer, const Problem& problem);
  /// Throws Error(usage) for problems on which the kernel is not traced; run() does so, too. None:
  /// on all.
  void (*check)(const Problem& problem) = nullptr;
};

[[nodiscard]] std::span<const TracedKernel> traced_kernels();
/// The kernels of a workload, in order.
[[nodiscard]] std::vector<std::string> traced_kernels(std::string_view workload);
[[nodiscard]] const TracedKernel& traced_kernel(std::string_view workload, std::string_view kernel);
/// Throws Error(usage) for problems that cannot be traced.
void check(const Problem& problem);

// By workload, each in the file of its name.
[[nodiscard]] std::vector<TracedKernel> matmul_kernels();
[[nodiscard]] std::vector<TracedKernel> transpose_kernels();
[[nodiscard]] std::vector<TracedKernel> sort_kernels();
[[nodiscard]] std::vector<TracedKernel> stencil_kernels();

}  // namespace tessera::locality
