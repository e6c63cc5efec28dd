#include <fmt/core.h>

#include "base/table.hpp"
#include "base/text.hpp"
#include "io/schema.hpp"
#include "locality.hpp"

namespace tessera::apps::locality {

namespace lab = tessera::locality;

bool is_gpu_kernel(const std::string& kernel) { return kernel.starts_with("cuda_"); }

std::vector<io::TableRows> run_gpu(const std::string& key, const run::Values& point) {
  const lab::GpuReport report = lab::simulate(lab::parse_gpu(point.text("gpu")),
                                              request_of(point).problem, point.integer("block"));
  const lab::Problem& p = report.problem;
  fmt::print("{} {}, {} x {}{}, {}-byte elements, blocks of {}{}: simulated in {}\n", p.workload,
             p.kernel, p.m, p.n,
             p.workload == "matmul" ? fmt::format(" x {}", p.k) : " " + p.stencil, p.element_bytes,
             report.block, p.column_width > 0 ? fmt::format(", columns of {}", p.column_width) : "",
             human_seconds(report.seconds));
  Table table(
      {"array", "requested sectors", "L1 hits", "fetched from L2", "L2 hits", "F by formula"});
  io::TableRows rows{io::schema::gpu, {}};
  const auto add = [&](const std::string& array, const lab::GpuCounts& c, bool whole) {
    const bool has = whole && report.predicted > 0;
    table.add({array, std::to_string(c.requests), fmt::format("{:.1f} %", 100 * c.l1_rate()),
               std::to_string(c.fetches()), fmt::format("{:.1f} %", 100 * c.l2_rate()),
               has ? fmt::format("{:.0f}", report.predicted) : ""});
    rows.rows.push_back(
        with(row_of(key, p), {{"stencil", p.stencil},
                              {"element_bytes", p.element_bytes, "B"},
                              {"block", report.block},
                              {"gpu", point.text("gpu")},
                              {"array", array},
                              {"requests", c.requests, "sectors"},
                              {"l1_hit_rate", c.l1_rate()},
                              {"fetches", c.fetches(), "sectors"},
                              {"l2_hit_rate", c.l2_rate()},
                              {"predicted_fetches", has ? report.predicted : -1.0, "sectors"}}));
  };
  for (std::size_t i = 0; i < report.arrays.size(); ++i)
    add(report.arrays[i], report.counts[i], false);
  add("all", report.all, true);
  fmt::print("{}", table.within(terminal_columns()));
  if (report.predicted > 0) fmt::print("formula: F = {}\n", report.formula);
  fmt::print("\n");
  return {rows};
}

}  // namespace tessera::apps::locality
