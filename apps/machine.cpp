#include <fmt/format.h>

#include <algorithm>

#include "base/table.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "io/raw_file.hpp"
#include "kernels/forkjoin/task_costs.hpp"
#include "kernels/memory/device_probes.hpp"
#include "kernels/memory/memory.hpp"
#include "machine/gpu.hpp"
#include "machine/isa.hpp"
#include "machine/topology.hpp"
#include "mpi/agreement.hpp"
#include "mpi/probes.hpp"
#include "mpi/runtime.hpp"
#include "mpi/watchdog.hpp"
#include "run/ceilings.hpp"
#include "run/device.hpp"

namespace tessera::apps {
namespace {

run::OptionSet declare() {
  run::OptionSet set("machine", "what this machine is, and what it can do at most",
                     {"tessera machine", "mpirun -n 2 tessera machine          # with what messages cost",
                      "tessera machine --show               # what earlier runs measured"});
  set.add({.name = "seconds",
           .kind = run::Kind::real,
           .fallback = "0.3",
           .help = "about how long each message probe runs",
           .group = "Measuring",
           .low = 0.01,
           .high = 60});
  set.add({.name = "show", .kind = run::Kind::flag, .help = "measure nothing", .group = "Measuring"});
  return set;
}

void print_topology() {
  const machine::Topology t = machine::topology();
  fmt::print("host {}: {}, {} ({}, cpus {}), {}\n", mpi::host_name(), t.processor, counted(t.cores, "core"),
             counted(t.hardware_threads, "hardware thread"), t.cpu_list, counted(t.numa_nodes, "NUMA node"));
  for (const auto& cache : t.caches) {
    fmt::print("  {} {} (lines of {} B), shared by {}\n", cache.name, human_bytes(cache.bytes),
               cache.line_bytes, counted(cache.shared_by, "core"));
  }
  fmt::print("  memory free: {}; instruction set: {}\n", human_bytes(machine::available_memory()),
             machine::name(machine::isa()));
  const machine::Gpus& gpus = machine::gpus();
  if (gpus.devices.empty()) fmt::print("  GPUs: none ({})\n", gpus.reason);
  for (const auto& gpu : gpus.devices) fmt::print("  GPU: {}\n", run::described(gpu));
  if (gpus.built)
    fmt::print("  CUDA: runtime {}, driver {}\n", gpus.runtime, gpus.driver.empty() ? "none" : gpus.driver);
}

void print_ceilings(const run::Ceilings& ceilings) {
  if (ceilings.all.empty()) {
    fmt::print("nothing measured yet: run `tessera machine`\n");
    return;
  }
  Table table({"ceiling", "threads or ranks", "value", "units"});
  for (const run::Ceiling& c : ceilings.all)
    table.add({c.name, std::to_string(c.threads), human_number(c.value), c.units});
  fmt::print("{}measured {} on {}\n", table.text(), ceilings.measured_at, ceilings.host);
}

void replace(run::Ceilings& ceilings, const run::Ceiling& fresh) {
  std::erase_if(ceilings.all,
                [&](const run::Ceiling& c) { return c.name == fresh.name && c.threads == fresh.threads; });
  ceilings.all.push_back(fresh);
}

void measure_node(run::Ceilings& ceilings) {
  const int cores = machine::topology().cores;
  for (int threads = 1;; threads = std::min(2 * threads, cores)) {
    const auto keep = [&](const char* name, double value, const char* units) {
      replace(ceilings, {name, threads, value / 1e9, units});
      mpi::heartbeat();
    };
    const machine::TaskCosts tasks = forkjoin::task_costs(threads);
    for (const run::Ceiling& cost : run::task_ceilings(tasks, threads)) replace(ceilings, cost);
    keep("fma_f32", memory::fma_peak<float>(threads), "GFLOP/s");
    keep("fma_f64", memory::fma_peak<double>(threads), "GFLOP/s");
    keep("copy", memory::copy_bandwidth(threads), "GB/s");
    keep("triad", memory::triad_bandwidth(threads), "GB/s");
    if (threads == cores) break;
  }
}

/// The first device; those of a node are alike.
void measure_device(run::Ceilings& ceilings) {
  if (machine::gpus().devices.empty()) return;
  machine::use_gpu(0);
  for (const memory::DeviceCeiling& c : memory::device_ceilings())
    replace(ceilings, {c.name, 1, c.value, c.units});
  mpi::heartbeat();
}

ExitCode body(const mpi::Communicator& comm, bool show, double seconds) {
  run::Ceilings ceilings;
  mpi::on_root(comm, "machine", [&] {
    print_topology();
    if (!show) io::require_file_or_nothing(run::ceilings_file(), "the file for what is measured,");
    ceilings = run::load_ceilings(run::ceilings_file());
    if (!show) run::save_ceilings(run::ceilings_file(), ceilings);  // what cannot be kept is not measured
    if (!show) measure_node(ceilings);
    if (!show) measure_device(ceilings);
  });
  if (!show && comm.size() > 1) {
    const mpi::MessageCosts costs = mpi::measure_messages(comm, 3 * seconds);
    replace(ceilings, {"mpi_latency", 2, costs.latency_seconds * 1e6, "us"});
    replace(ceilings, {"mpi_message", 2, costs.message_seconds * 1e6, "us"});
    replace(ceilings, {"mpi_bandwidth", 2, costs.bandwidth / 1e9, "GB/s"});
    for (std::size_t i = 0; i < costs.shift_bandwidth.size(); ++i)
      replace(ceilings, {run::shift_name(i), comm.size(), costs.shift_bandwidth[i] / 1e9, "GB/s"});
    replace(ceilings, {"mpi_all_to_all", comm.size(), costs.all_to_all_bandwidth / 1e9, "GB/s"});
  }
  mpi::on_root(comm, "machine", [&] {
    if (!show) {
      ceilings.host = mpi::host_name();
      ceilings.measured_at = utc_now();
      run::save_ceilings(run::ceilings_file(), ceilings);
    }
    print_ceilings(ceilings);
    if (!show) fmt::print("kept in {}\n", run::ceilings_file());
  });
  return ExitCode::ok;
}

Body prepare(const run::Parsed& parsed, const Arguments&, ExitCode&) {
  const bool show = parsed.lists.at("show").front() == "true";
  const double seconds = parsed.real("seconds");
  return [=](const mpi::Communicator& comm) { return body(comm, show, seconds); };
}

}  // namespace

Command machine_command() { return {declare(), prepare}; }

}  // namespace tessera::apps
