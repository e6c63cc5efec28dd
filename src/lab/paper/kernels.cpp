#include "lab/paper/kernels.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace tessera::inline v1::paper {

std::span<const PaperKernel> paper_kernels() {
  static const std::vector<PaperKernel> all = [] {
    std::vector<PaperKernel> rows;
    for (const auto& part : {transpose_kernels(), matmul_kernels(), stencil_kernels(),
                             memory_kernels(), branch_kernels()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

std::vector<std::string> paper_kernels(std::string_view workload) {
  std::vector<std::string> names;
  for (const PaperKernel& row : paper_kernels()) {
    if (row.workload == workload) names.emplace_back(row.name);
  }
  return names;
}

const PaperKernel& paper_kernel(std::string_view workload, std::string_view name) {
  for (const PaperKernel& row : paper_kernels()) {
    if (row.workload == workload && row.name == name) return row;
  }
  throw Error(ExitCode::usage, fmt::format("{} has no kernel '{}' on paper{}", workload, name,
                                           suggestion(name, paper_kernels(workload))));
}

void require_right(bool right, std::string_view kernel) {
  if (!right)
    throw Error(ExitCode::internal,
                fmt::format("kernel {} computes a wrong result on paper", kernel));
}

}  // namespace tessera::inline v1::paper
