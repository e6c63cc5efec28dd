#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/hanging.hpp"
#include "base/table.hpp"
#include "commands/command.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "kernels/matmul/variants.hpp"
#include "kernels/memory/device_probes.hpp"
#include "kernels/memory/misses.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/stencil/variants.hpp"
#include "kernels/transpose/variants.hpp"
#include "lab/locality/occupancy.hpp"
#include "machine/gpu.hpp"
#include "run/answer.hpp"
#include "workloads/matmul/workload.hpp"
#include "workloads/sort/workload.hpp"
#include "workloads/transpose/workload.hpp"

namespace tessera::apps {
namespace {

void add_rows(Table& table, const std::string& workload, const std::vector<VariantInfo>& rows) {
  for (const VariantInfo& row : rows) {
    table.add(
        {workload, std::string(row.name), std::string(name(row.space)), std::string(row.about)});
    run::answer().append("kernels", {{"workload", workload},
                                     {"kernel", row.name},
                                     {"space", name(row.space)},
                                     {"about", row.about}});
  }
}

Body list(const run::Parsed& parsed, const Arguments&, ExitCode&) {
  if (parsed.lists.at("occupancy").front() == "true") {
    locality::print_occupancy();
    return {};
  }
  Table kernels({"workload", "kernel", "space", "what it does"});
  add_rows(kernels, "matmul", infos(matmul::variants()));
  add_rows(kernels, "transpose", infos(transpose::variants()));
  add_rows(kernels, "stencil", infos(stencil::variants()));
  add_rows(kernels, "sort", infos(sort::variants()));
  add_rows(kernels, "forkjoin", infos(forkjoin::variants()));
  add_rows(kernels, "memory", infos(memory::probes()));
  if (machine::gpus().built) add_rows(kernels, "memory", infos(memory::device_probes()));
  fmt::print("{}", kernels.within(terminal_columns()));
  if (machine::gpus().devices.empty())
    print_hanging("no kernel runs on a GPU here: ", machine::gpus().reason);
  else if (!machine::gpus().unusable.empty())
    print_hanging("not every GPU is used: ", machine::gpus().unusable);
  fmt::print("\n");
  Table distributed({"workload", "algorithm", "how the ranks share the work"});
  for (const auto& row : dist::matmul::algorithms())
    distributed.add({"matmul", std::string(row.name), std::string(row.about)});
  for (const auto& row : dist::transpose::algorithms())
    distributed.add({"transpose", std::string(row.name), std::string(row.about)});
  for (const auto& row : dist::sort::algorithms())
    distributed.add({"sort", std::string(row.name), std::string(row.about)});
  distributed.add(
      {"stencil", "deep_halo", "boxes of a grid, halos for several steps exchanged at once"});
  fmt::print("{}\n", distributed.within(terminal_columns()));
  Table stencils({"stencil", "dimensions", "what a step computes"});
  for (const auto& row : stencil::stencil_infos()) {
    const auto range = row.min_dims == row.max_dims
                           ? std::to_string(row.min_dims)
                           : fmt::format("{} to {}", row.min_dims, row.max_dims);
    stencils.add({std::string(row.name), range, std::string(row.about)});
  }
  fmt::print("{}", stencils.within(terminal_columns()));
  return {};
}

}  // namespace

Command list_command() {
  run::OptionSet set(
      "list", "List all kernels, algorithms and stencils",
      {"tessera list", "tessera list --occupancy     # resources of the GPU kernels"});
  set.add({.name = "occupancy",
           .kind = run::Kind::flag,
           .help = "Print the resources that GPU kernels occupy. Registers, shared and local "
                   "memory, blocks and warps per multiprocessor, and the limiting resource.",
           .group = "GPU"});
  return {set, list, RankScope::on_one};
}

}  // namespace tessera::apps
