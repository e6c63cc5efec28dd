#include <fmt/format.h>

#include "base/table.hpp"
#include "command.hpp"
#include "dist/matmul/multiply.hpp"
#include "dist/sort/sort.hpp"
#include "dist/transpose/transpose.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "kernels/matmul/cuda.hpp"
#include "kernels/matmul/variants.hpp"
#include "kernels/memory/device_probes.hpp"
#include "kernels/memory/misses.hpp"
#include "kernels/sort/cuda.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/stencil/cuda.hpp"
#include "kernels/stencil/variants.hpp"
#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/gpu.hpp"
#include "machine/occupancy.hpp"

namespace tessera::apps {
namespace {

void add_rows(Table& table, const std::string& workload, const std::vector<VariantInfo>& rows) {
  for (const VariantInfo& row : rows) {
    table.add({workload, std::string(row.name), std::string(name(row.space)), std::string(row.about)});
  }
}

/// Registers, shared memory and blocks a multiprocessor of every device function. What the compiler made of a
/// function only the driver tells, on a device.
void print_occupancy() {
  const machine::Gpus& gpus = machine::gpus();
  if (gpus.devices.empty()) {
    fmt::print("occupancy: a GPU's driver tells it, and there is none here ({})\n", gpus.reason);
    return;
  }
  machine::use_gpu(0);
  const machine::Gpu& gpu = gpus.devices.front();
  Table table({"workload", "kernel", "of", "threads", "registers", "local", "shared", "blocks", "warps",
               "of most", "limited by"});
  const auto add = [&](const char* workload, const std::vector<machine::DeviceFunction>& functions) {
    for (const machine::DeviceFunction& f : functions) {
      const machine::Occupancy found = machine::occupancy(f);
      table.add({workload, f.kernel, f.of, std::to_string(f.threads), std::to_string(found.registers),
                 fmt::format("{} B", found.local_bytes), fmt::format("{} B", found.shared_bytes),
                 std::to_string(found.blocks), std::to_string(found.warps),
                 fmt::format("{:.0f} %", 100.0 * 32 * found.warps / gpu.threads), found.limit});
    }
  };
  add("matmul", matmul::device_functions());
  add("transpose", transpose::device_functions());
  add("stencil", stencil::device_functions());
  add("sort", sort::device_functions());
  add("memory", memory::device_functions());
  fmt::print(
      "{}on a multiprocessor of {}: {} threads, {} blocks, {} registers, {} B of shared memory ({} B of it "
      "taken of every block)\n",
      table.text(), gpu.name, gpu.threads, gpu.blocks, gpu.registers, gpu.shared_bytes, gpu.reserved_bytes);
}

Body list(const run::Parsed& parsed, const Arguments&, ExitCode&) {
  if (parsed.lists.at("occupancy").front() == "true") {
    print_occupancy();
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
  fmt::print("{}\n", kernels.text());
  Table distributed({"workload", "algorithm", "how the ranks share the work"});
  for (const auto& row : dist::matmul::algorithms())
    distributed.add({"matmul", std::string(row.name), std::string(row.about)});
  for (const auto& row : dist::transpose::algorithms())
    distributed.add({"transpose", std::string(row.name), std::string(row.about)});
  for (const auto& row : dist::sort::algorithms())
    distributed.add({"sort", std::string(row.name), std::string(row.about)});
  distributed.add({"stencil", "deep_halo", "boxes of a grid, halos for several steps exchanged at once"});
  fmt::print("{}\n", distributed.text());
  Table stencils({"stencil", "dimensions", "what a step computes"});
  for (const auto& row : stencil::stencil_infos()) {
    const auto range = row.min_dims == row.max_dims ? std::to_string(row.min_dims)
                                                    : fmt::format("{} to {}", row.min_dims, row.max_dims);
    stencils.add({std::string(row.name), range, std::string(row.about)});
  }
  fmt::print("{}", stencils.text());
  return {};
}

}  // namespace

Command list_command() {
  run::OptionSet set(
      "list", "all variants by workload and space",
      {"tessera list", "tessera list --occupancy     # what the kernels of the GPU take of it"});
  set.add(
      {.name = "occupancy",
       .kind = run::Kind::flag,
       .help =
           "registers, shared and local memory, blocks and warps a multiprocessor of the GPU's kernels, and "
           "what limits them",
       .group = "GPU"});
  return {set, list, Runs::on_one};
}

}  // namespace tessera::apps
