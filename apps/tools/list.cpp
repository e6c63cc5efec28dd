#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hanging.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "commands/command.hpp"
#include "io/results.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "kernels/matmul/variants.hpp"
#include "kernels/memory/device_probes.hpp"
#include "kernels/memory/misses.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/stencil/variants.hpp"
#include "kernels/transpose/variants.hpp"
#include "lab/locality/occupancy.hpp"
#include "lab/paper/what_if.hpp"
#include "machine/gpu.hpp"
#include "run/answer.hpp"
#include "run/inputs.hpp"
#include "run/provenance.hpp"
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

bool is_flag(const run::Parsed& parsed, const char* option) {
  return parsed.sources.at(option) == "flag";
}

/// Prints the occupancy of a block that the options describe.
std::vector<io::TableRows> what_if(const run::OptionSet& set, const run::Parsed& parsed) {
  const run::Values point = set.points(parsed).front();
  const machine::BlockShape block{point.integer("threads"), point.integer("registers"),
                                  point.bytes("shared")};
  constexpr index_t most = 1024;
  require(block.threads >= 1 && block.threads <= most, ExitCode::usage,
          fmt::format("--threads {}: a block has 1 to {} threads", block.threads, most));
  std::vector<io::TableRows> tables =
      point.has("cc") ? paper::print_what_if(block, point.text("cc")) : paper::print_what_if(block);
  run::answer_tables(tables);
  return tables;
}

/// Lists the occupancy of a described block, or that of this program's kernels on this machine.
Body occupancy(const run::OptionSet& set, const run::Parsed& parsed, const Arguments& arguments) {
  const std::string file = is_flag(parsed, "results") ? parsed.lists.at("results").front() : "";
  const char* const shape[] = {"threads", "registers", "shared", "cc"};
  if (std::none_of(std::begin(shape), std::end(shape),
                   [&](const char* option) { return is_flag(parsed, option); })) {
    require(file.empty(), ExitCode::usage,
            "--results requires a block; add --threads, --registers or --shared");
    locality::print_occupancy();
    return {};
  }
  if (!file.empty()) run::require_own_file(file, set, parsed);
  const std::vector<io::TableRows> tables = what_if(set, parsed);
  if (file.empty()) return {};
  return [=, &set](const mpi::Communicator& comm) {
    const std::string run = io::append_new_run(
        file, set.command(), run::provenance(comm, set, parsed, arguments, utc_now()), tables);
    fmt::print("results: {} (group {}); run tessera report {} to plot the curves\n", file, run,
               file);
    return ExitCode::ok;
  };
}

Body list(const run::OptionSet& set, const run::Parsed& parsed, const Arguments& arguments) {
  if (parsed.lists.at("occupancy").front() == "true") return occupancy(set, parsed, arguments);
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

run::OptionSet declare() {
  run::OptionSet set(
      "list", "List all kernels, algorithms and stencils",
      {"tessera list", "tessera list --occupancy     # resources of the GPU kernels",
       "tessera list --occupancy --threads 256 --registers 40 --shared 8KiB --cc 9.0"});
  set.add({.name = "occupancy",
           .kind = run::Kind::flag,
           .help = "Print the resources that GPU kernels occupy. Registers, shared and local "
                   "memory, blocks and warps per multiprocessor, and the limiting resource; or, "
                   "without a GPU, those of a block that the options below describe.",
           .group = "GPU"});
  const auto of_block = [&](const char* name, run::Kind kind, const char* fallback, double low,
                            double high, const char* help) {
    set.add({.name = name,
             .kind = kind,
             .fallback = fallback,
             .help = help,
             .group = "GPU",
             .low = low,
             .high = high,
             .users = {"occupancy", {"true"}}});
  };
  of_block("threads", run::Kind::integer, "256", 0, 1e4,
           "Set the threads of the block, up to 1024");
  of_block("registers", run::Kind::integer, "32", 0, 255, "Set the registers of a thread");
  of_block("shared", run::Kind::bytes, "0", 0, 1e9, "Set the shared memory of the block");
  std::vector<std::string> versions;
  for (const machine::ComputeCapability& row : machine::compute_capabilities())
    versions.emplace_back(row.version);
  set.add({.name = "cc",
           .kind = run::Kind::choice,
           .help = "Select the compute capability, 9.0 for an H100. Prints the curves of occupancy "
                   "against threads, registers and shared memory. Default: a row for each.",
           .group = "GPU",
           .choices = versions,
           .users = {"occupancy", {"true"}}});
  set.add({.name = "results",
           .help = "Append the occupancy of the block to an HDF5 file. With --cc also its curves.",
           .group = "Files",
           .value = "FILE",
           .identity = false,
           .users = {"occupancy", {"true"}}});
  return set;
}

}  // namespace

Command list_command() {
  static const run::OptionSet set = declare();
  return {set,
          [](const run::Parsed& parsed, const Arguments& arguments, ExitCode&) {
            return list(set, parsed, arguments);
          },
          RankScope::on_one};
}

}  // namespace tessera::apps
