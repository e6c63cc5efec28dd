// Defaults of a point and limits of the kernels.

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "kernels/matmul/variants.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/stencil/variants.hpp"
#include "kernels/transpose/variants.hpp"
#include "lab/scalability/scalability.hpp"

namespace tessera::inline v1::scalability {
namespace {

std::vector<VariantInfo> kernels_of(const std::string& workload) {
  if (workload == "matmul") return infos(tessera::matmul::variants());
  if (workload == "transpose") return infos(tessera::transpose::variants());
  if (workload == "stencil") return infos(tessera::stencil::variants());
  if (workload == "sort") return infos(tessera::sort::variants());
  return infos(forkjoin::variants());
}

std::string default_kernel(const std::string& workload) {
  if (workload == "forkjoin") return "fib";
  return workload == "sort" ? "mergesort" : "cache_oblivious";
}

std::string default_size(const std::string& workload) {
  if (workload == "matmul") return "1024";
  if (workload == "transpose") return "4096";
  return workload == "stencil" ? "2048" : "10000000";
}

void complete_probe(run::Values& point, const forkjoin::Variant& probe) {
  if (!point.has("n")) point.set("n", std::to_string(probe.n));
  if (!point.has("threshold")) point.set("threshold", std::to_string(probe.threshold));
  require(point.integer("n") <= probe.most, ExitCode::usage,
          fmt::format("--n {} exceeds the limit of {}; use at most {}", point.integer("n"),
                      probe.name, probe.most));
}

}  // namespace

const std::vector<std::string>& workloads() {
  static const std::vector<std::string> names{"matmul", "transpose", "stencil", "sort", "forkjoin"};
  return names;
}

run::Values completed(const run::Values& point) {
  run::Values result = point;
  const std::string& workload = point.text("workload");
  if (!point.has("kernel")) result.set("kernel", default_kernel(workload));
  const std::string& kernel = result.text("kernel");
  const auto rows = kernels_of(workload);
  std::vector<std::string> names;
  for (const VariantInfo& row : rows) {
    if (row.space == Space::host) names.emplace_back(row.name);
  }
  require(std::find(names.begin(), names.end(), kernel) != names.end(), ExitCode::usage,
          fmt::format("{} has no kernel '{}' on the host{}", workload, kernel,
                      suggestion(kernel, names)));
  require_library(
      *std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == kernel; }));
  if (workload == "forkjoin") {
    complete_probe(result, *find_variant(forkjoin::variants(), kernel));
    return result;
  }
  require(!point.has("threshold"), ExitCode::usage,
          fmt::format("--threshold is an option of forkjoin probes: kernels of {} choose it "
                      "themselves; drop it",
                      workload));
  if (!point.has("n")) result.set("n", default_size(workload));
  if (point.text("type") == "auto") result.set("type", workload == "sort" ? "u64" : "f64");
  const std::string& type = result.text("type");
  require(
      workload == "sort" || type.starts_with('f'), ExitCode::usage,
      fmt::format("{} computes in f32 or f64, not in {}; use --type f32 or f64", workload, type));
  return result;
}

}  // namespace tessera::inline v1::scalability
