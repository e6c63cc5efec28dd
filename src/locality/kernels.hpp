#pragma once
// The kernels that can be traced, and how to run one.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"
#include "locality/tracer.hpp"

namespace tessera::locality {

/// What a kernel is to work on. Sizes in elements; each workload uses what concerns it.
struct Problem {
  std::string workload;
  std::string kernel;
  index_t element_bytes = 8;
  index_t m = 0, n = 0, k = 0;  ///< matmul; transpose, stencil: m x n
  index_t pad = 0;              ///< elements between the rows of a matrix or field
  index_t tile = 0;             ///< 0: the kernel's own choice
  index_t column_width = 0;
  index_t steps = 1;         ///< stencil: time steps
  std::string stencil = {};  ///< stencil: its name
  index_t range = 0;         ///< sort: different keys
  std::uint64_t seed = 1;
};

struct TracedKernel {
  std::string_view workload;
  std::string_view kernel;
  std::string_view leaf;  ///< what the innermost loop is: "scalar", "vectors of 64 B", ...
  /// Makes the arrays, runs the kernel on them into the tracer's sinks and checks what it computed. Returns
  /// the problem with what the kernel chose itself filled in. Throws Error(internal) when the result is
  /// wrong.
  Problem (*run)(Tracer& tracer, const Problem& problem);
  /// Throws Error(usage) for problems on which the kernel is not traced; run() does so, too. None: on all.
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
