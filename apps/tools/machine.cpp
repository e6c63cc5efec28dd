#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/hanging.hpp"
#include "base/lines.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "commands/command.hpp"
#include "lab/atlas/atlas.hpp"
#include "machine/energy.hpp"
#include "machine/gpu.hpp"
#include "machine/isa.hpp"
#include "machine/nvml.hpp"
#include "machine/topology.hpp"
#include "run/answer.hpp"
#include "run/ceilings.hpp"
#include "run/common_options.hpp"
#include "run/device.hpp"
#include "run/measure_ceilings.hpp"
#include "run/provenance.hpp"

namespace tessera::apps {
namespace {

run::OptionSet machine_options() {
  run::OptionSet set(
      "machine", "Measure and print the peak rates of this machine",
      {"tessera machine", "mpirun -n 2 tessera machine  # latency and bandwidth of messages too",
       "tessera machine --show       # stored peak rates",
       "tessera machine --atlas --results a.h5  # then: tessera report a.h5"});
  set.add({.name = "seconds",
           .kind = run::Kind::real,
           .fallback = "0.3",
           .help = "Set the duration of each message probe",
           .group = "Measuring",
           .low = 0.01,
           .high = 60});
  set.add({.name = "show",
           .kind = run::Kind::flag,
           .help = "Print stored peak rates without measuring",
           .group = "Measuring"});
  set.add({.name = "atlas",
           .kind = run::Kind::flag,
           .help = "Measure latency and bandwidth, level by level. Pointer chases, bandwidth by "
                   "working set and threads, lines between cores, atomics, tasks, messages between "
                   "ranks, memories of a GPU; in less than 3 minutes.",
           .group = "Atlas"});
  set.add({.name = "largest",
           .kind = run::Kind::bytes,
           .help = "Set the largest working set. Default: four times the last-level cache, at most "
                   "1 GiB.",
           .group = "Atlas",
           .low = 1 << 20,
           .high = 1e12});
  set.add({.name = "results",
           .help = "Append the atlas to an HDF5 file. tessera report draws it.",
           .group = "Atlas",
           .value = "FILE"});
  run::add_title(set);
  set.lead_with({"show", "atlas", "results"});
  return set;
}

/// Prints a device and what a device query reports; the answer has both.
void print_gpu(const machine::Gpu& gpu) {
  print_hanging("  GPU: ", run::described(gpu));
  run::Json member{{"name", gpu.name},
                   {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                   {"multiprocessors", gpu.multiprocessors},
                   {"clock_hz", gpu.clock_hz}};
  for (const run::Reported& one : run::device_query(gpu)) {
    print_hanging("    " + one.subject + ": ", one.text);
    member[one.subject] = one.text;
  }
  run::answer().append("gpus", member);
}

/// Prints a kind of energy counters, or why there are none; the answer has both.
void print_energy(const std::string& of, const machine::EnergyCounters& found) {
  for (const auto& counter : found.all) {
    fmt::print("  energy of {}: {} ({})\n", counter->domain, counter->id, counter->source);
    run::answer().append("energy", {{"domain", counter->domain},
                                    {"counter", counter->id},
                                    {"source", counter->source},
                                    {"reason", ""}});
  }
  if (found.missing.empty()) return;
  print_hanging(fmt::format("  energy of {}: ", of), "not measured (" + found.missing + ")");
  run::answer().append(
      "energy",
      {{"domain", of}, {"counter", nullptr}, {"source", nullptr}, {"reason", found.missing}});
}

void print_topology() {
  const machine::Topology t = machine::topology();
  print_filled("host {}: {}, {} ({}, cpus {}), {}", run::host_name(), t.processor,
               counted(t.cores, "core"), counted(t.hardware_threads, "hardware thread"), t.cpu_list,
               counted(t.numa_nodes, "NUMA node"));
  for (const auto& cache : t.caches) {
    fmt::print("  {} {} (lines of {} B), shared by {}\n", cache.name, human_bytes(cache.bytes),
               cache.line_bytes, counted(cache.shared_by, "core"));
  }
  fmt::print("  memory free: {}; instruction set: {}\n", human_bytes(machine::available_memory()),
             machine::name(machine::isa()));
  const machine::Gpus& gpus = machine::gpus();
  if (gpus.devices.empty()) print_hanging("  GPUs: ", "none (" + gpus.reason + ")");
  for (const auto& gpu : gpus.devices) print_gpu(gpu);
  print_energy("package", machine::powercap_counters());
  for (const auto& gpu : gpus.devices) print_energy("gpu", machine::gpu_energy_counter(gpu.pci));
  if (!gpus.devices.empty() && !gpus.unusable.empty()) print_hanging("  not used: ", gpus.unusable);
  if (const std::string runtime = machine::cuda_version(); !runtime.empty())
    fmt::print("  CUDA: runtime {}, driver {}\n", runtime,
               gpus.driver.empty() ? "none" : gpus.driver);
}

void print_ceilings(const run::Ceilings& ceilings) {
  if (ceilings.all.empty()) {
    fmt::print("peak rates not measured yet; run `tessera machine`\n");
    return;
  }
  Table table({"ceiling", "threads or ranks", "value", "units"});
  for (const run::Ceiling& c : ceilings.all) {
    table.add({c.name, std::to_string(c.threads), human_number(c.value), c.units});
    run::answer().append(
        "ceilings",
        {{"name", c.name}, {"threads", c.threads}, {"value", c.value}, {"unit", c.units}});
  }
  fmt::print("{}measured {} on {}\n", table.within(terminal_columns()), ceilings.measured_at,
             ceilings.host);
}

/// Measures and prints the peak rates of processor, memory, tasks and GPUs, and the message costs
/// between the ranks. Collective.
ExitCode measure(const mpi::Communicator& comm, double seconds) {
  const run::MeasuredCeilings measured = run::measure_ceilings(comm, seconds, print_topology);
  if (!comm.is_root()) return ExitCode::ok;
  if (!measured.ceilings.all.empty()) print_ceilings(measured.ceilings);
  if (!measured.notes.empty()) print_filled(trim(measured.notes));
  const auto& [file, why] = measured.place;
  if (file.empty())
    print_filled("not stored: {}; set TESSERA_MACHINE_FILE to a writable file", why);
  else if (measured.stored == 0)
    fmt::print("not stored: {} is unchanged\n", file);
  else
    fmt::print("stored in {}\n", file);
  return ExitCode::ok;
}

/// Prints this machine's topology and the ceilings of earlier runs.
ExitCode show(const mpi::Communicator& comm) {
  if (!comm.is_root()) return ExitCode::ok;
  print_topology();
  print_ceilings(run::load_ceilings(run::ceilings_file()));
  return ExitCode::ok;
}

/// Throws Error(usage) for options that need --atlas.
void refuse_idle(const run::Parsed& parsed) {
  for (const char* option : {"largest", "results", "title"}) {
    const std::string& source = parsed.sources.at(option);
    require(source == "default" || source == "environment", ExitCode::usage,
            fmt::format("--{} requires --atlas, which it belongs to", option));
  }
}

Body prepare(const run::Parsed& parsed, const Arguments& arguments, ExitCode&) {
  if (parsed.lists.at("atlas").front() == "true") {
    require(parsed.lists.at("show").front() != "true", ExitCode::usage,
            "--atlas conflicts with --show; drop one of them");
    return [=](const mpi::Communicator& comm) {
      return atlas::run({comm, machine_options(), parsed, arguments}, print_topology);
    };
  }
  refuse_idle(parsed);
  if (parsed.lists.at("show").front() == "true") return show;
  const double seconds = parsed.real("seconds");
  return [=](const mpi::Communicator& comm) { return measure(comm, seconds); };
}

}  // namespace

Command machine_command() { return {machine_options(), prepare}; }

}  // namespace tessera::apps
