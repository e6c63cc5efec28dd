#include <fmt/core.h>

#include "base/text.hpp"
#include "commands/command.hpp"
#include "kernels/memory/device_probes.hpp"
#include "kernels/memory/misses.hpp"
#include "lab/memory/memory.hpp"
#include "run/common_options.hpp"

namespace tessera::apps {

namespace {

/// Returns "cuda_copy_stride, cuda_shared_stride (default 1)".
std::string takers(const memory::DeviceParameter& parameter) {
  std::vector<std::string> names;
  index_t usual = 0;
  for (const auto& row : memory::device_probes()) {
    if (!takes(row, parameter)) continue;
    names.emplace_back(row.name);
    usual = row.usual.*parameter.member;
  }
  const std::string value = parameter.bytes ? human_bytes(usual)
                            : parameter.words.front() == nullptr
                                ? std::to_string(usual)
                                : parameter.words[static_cast<std::size_t>(usual)];
  constexpr std::size_t most = 4;
  if (names.size() > most) {
    names.resize(1);
    names.front() = names.front().substr(0, names.front().rfind('_')) + "_...";
  }
  return fmt::format("{} (default {})", join(names, ", "), value);
}

void add_walk(run::OptionSet& set) {
  const std::vector<std::string> names = run::names_of(memory::probes());
  set.add({.name = "probe",
           .kind = run::Kind::choice,
           .fallback = join(names, ","),
           .help = "Select the walks over memory",
           .group = "Walk",
           .choices = names,
           .axis = true});
  set.add({.name = "size",
           .kind = run::Kind::bytes,
           .fallback = "0",
           .help = "Set the bytes that are touched. conflict: 64 a row; on a GPU: those of an "
                   "array, 4 a thread for probes of registers; 0: the default of the probe.",
           .group = "Walk",
           .axis = true,
           .low = 0,
           .high = 1e15});
  set.add({.name = "stride",
           .kind = run::Kind::bytes,
           .fallback = "0",
           .help = "Set the stride between touches, rows or counters. 0: the default of the probe.",
           .group = "Walk",
           .axis = true,
           .low = 0,
           .high = 1e12});
  set.add({.name = "rounds",
           .kind = run::Kind::integer,
           .fallback = "0",
           .help = "Set the passes over the data. Updates of a thread that shares a line; on a GPU "
                   "consecutive launches, or steps of a thread; 0: the default of the probe.",
           .group = "Walk",
           .axis = true,
           .low = 0,
           .high = 1e12});
  set.add({.name = "no-simulation",
           .kind = run::Kind::flag,
           .help = "Measure time only, without simulated misses",
           .group = "Walk",
           .identity = false});
}

void add_gpu(run::OptionSet& set) {
  set.add({.name = "kernel",
           .kind = run::Kind::choice,
           .help = "Run a GPU probe instead of a walk",
           .group = "GPU",
           .choices = run::names_of(memory::device_probes()),
           .axis = true});
  for (const memory::DeviceParameter& p : memory::device_parameters()) {
    const bool words = p.words.front() != nullptr;
    set.add({.name = p.name,
             .kind = words     ? run::Kind::choice
                     : p.bytes ? run::Kind::bytes
                               : run::Kind::integer,
             .help = fmt::format("Set the {} of a GPU probe. {}: {}. For {}.", p.name, p.name,
                                 p.help, takers(p)),
             .group = "GPU",
             .choices = words ? std::vector<std::string>(p.words.begin(), p.words.end())
                              : std::vector<std::string>{},
             .axis = true,
             .low = static_cast<double>(p.low),
             .high = static_cast<double>(p.high)});
  }
}

run::OptionSet memory_options() {
  run::OptionSet set("memory", "Time and simulate the five kinds of cache miss; probe a GPU",
                     {"tessera memory --probe conflict,conflict_padded",
                      "tessera memory --probe false_sharing --stride 8,16,32,64,128 --threads 2",
                      "tessera memory --probe capacity,capacity_blocked --size 256KiB,1MiB,4MiB",
                      "tessera memory --config configs/studies/tutorial/five_misses.toml",
                      "tessera memory --kernel cuda_copy_offset --offset 0:32",
                      "tessera memory --kernel cuda_reduce_interleaved,cuda_reduce,cuda_read",
                      "tessera memory --kernel cuda_transpose_naive,cuda_transpose_diagonal"});
  add_walk(set);
  add_gpu(set);
  run::add_common_options(set);
  set.lead_with({"probe", "kernel", "size", "stride", "threads", "results"});
  return set;
}

}  // namespace

Command memory_command() {
  static const run::OptionSet set = memory_options();
  return {set, [](run::Parsed parsed, const Arguments& arguments, ExitCode&) -> Body {
            memory_probes::sort_out(parsed);
            return [parsed, arguments](const mpi::Communicator& comm) {
              return memory_probes::run_all(comm, set, parsed, arguments);
            };
          }};
}

}  // namespace tessera::apps
