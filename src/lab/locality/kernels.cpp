#include "lab/locality/kernels.hpp"

#include <fmt/core.h>

#include "base/text.hpp"

namespace tessera::inline v1::locality {

std::span<const TracedKernel> traced_kernels() {
  static const std::vector<TracedKernel> all = [] {
    std::vector<TracedKernel> rows;
    for (const auto& part : {matmul_kernels(), transpose_kernels(), stencil_kernels(),
                             sort_kernels(), memory_kernels()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

std::vector<std::string> traced_kernels(std::string_view workload) {
  std::vector<std::string> names;
  for (const TracedKernel& row : traced_kernels()) {
    if (row.workload == workload) names.emplace_back(row.kernel);
  }
  return names;
}

const TracedKernel& traced_kernel(std::string_view workload, std::string_view kernel) {
  for (const TracedKernel& row : traced_kernels()) {
    if (row.workload == workload && row.kernel == kernel) return row;
  }
  const std::vector<std::string> names = traced_kernels(workload);
  throw Error(ExitCode::usage, fmt::format("{} has no traced kernel '{}'{}", workload, kernel,
                                           suggestion(kernel, names)));
}

void check(const Problem& problem) {
  const TracedKernel& row = traced_kernel(problem.workload, problem.kernel);
  if (row.check != nullptr) row.check(problem);
}

}  // namespace tessera::inline v1::locality
