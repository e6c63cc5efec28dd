// tessera memory --kernel: probes of the GPU.

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "io/schema.hpp"
#include "kernels/memory/device_probes.hpp"
#include "lab/memory/memory.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "run/device.hpp"
#include "run/memory_plan.hpp"

namespace tessera::inline v1::memory_probes {
namespace {

using memory::DeviceParameter;
using memory::DeviceProbeVariant;
using memory::DeviceWalk;
using run::Values;

const DeviceProbeVariant& row_of(const std::string& kernel) {
  return *find_variant(memory::device_probes(), kernel);
}

std::vector<std::string> named(const run::Parsed& parsed) {
  const std::vector<std::string>& kernels = parsed.lists.at("kernel");
  return kernels.front().empty() ? std::vector<std::string>{} : kernels;
}

/// Returns the value of a parameter; of one with words, the number of the word.
index_t value_of(const Values& point, const DeviceParameter& p) {
  if (p.bytes) return point.bytes(p.name);
  if (p.words.front() == nullptr) return point.integer(p.name);
  const auto* const found = std::find(p.words.begin(), p.words.end(), point.text(p.name));
  return found - p.words.begin();
}

DeviceWalk walk_of(const Values& point) {
  DeviceWalk walk{.bytes = point.bytes("size"), .rounds = point.integer("rounds")};
  for (const DeviceParameter& p : memory::device_parameters()) {
    if (point.has(p.name)) walk.*p.member = value_of(point, p);
  }
  return completed(row_of(point.text("kernel")), walk);
}

/// Returns the bytes of the arrays, including the words before the first copied one.
index_t device_bytes(const DeviceProbeVariant& row, const DeviceWalk& walk) {
  const index_t array = walk.bytes + 4 * std::max<index_t>(0, walk.offset);
  return checked_mul(std::max<index_t>(1, array), row.device_arrays,
                     "size of the arrays of a probe");
}

/// Returns whether a kernel of this run races: then wrong elements have a column.
bool any_races(const run::Parsed& parsed) {
  const auto kernels = named(parsed);
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const auto& name) { return row_of(name).result == memory::Result::races; });
}

/// Returns a column of the parameter as the walk has it.
io::Cell column_of(const DeviceWalk& walk, const DeviceParameter& p) {
  std::string column = p.name;
  std::replace(column.begin(), column.end(), '-', '_');
  const index_t value = walk.*p.member;
  if (p.words.front() == nullptr) return {column, std::max<index_t>(0, value)};
  return {column, std::string(value < 0 ? "" : p.words[static_cast<std::size_t>(value)])};
}

/// Checks the result; that of a race is not one to be right, so its wrong elements are counted.
void check(const Values& point, const run::Parsed& parsed, memory::DeviceProbe& probe,
           run::Measured& measured) {
  const bool races = any_races(parsed);
  if (point.flag("no-verify") && !races) return;
  const mpi::PhaseScope scope(measured.once, "verify");
  const memory::DeviceCheck found = probe.check();
  if (races) measured.columns.push_back({"wrong", found.wrong});
  if (row_of(point.text("kernel")).result == memory::Result::checked)
    measured.verdict = run::Verdict{found.method, found.ratio, found.tolerance};
}

/// Returns the parameters of any of this run's kernels: all rows of a table have the same columns.
std::vector<const DeviceParameter*> columns_of(const run::Parsed& parsed) {
  std::vector<const DeviceParameter*> result;
  const auto kernels = named(parsed);
  for (const DeviceParameter& p : memory::device_parameters()) {
    if (std::any_of(kernels.begin(), kernels.end(),
                    [&](const auto& name) { return takes(row_of(name), p); }))
      result.push_back(&p);
  }
  return result;
}

std::vector<io::Row> timeline_of(const memory::DeviceProbe& probe) {
  std::vector<io::Row> rows;
  for (const memory::DeviceSpan& span : probe.spans())
    rows.push_back({{"what", std::string(span.what), ""},
                    {"piece", span.piece, ""},
                    {"stream", span.stream, ""},
                    {"begin", span.begin, "s"},
                    {"end", span.end, "s"}});
  return rows;
}

/// Times the probe by device events: a launch from the host takes longer than many kernels.
void measure(const mpi::Communicator& comm, const Values& point, memory::DeviceProbe& probe,
             run::Measured& measured) {
  const mpi::Computing computing;
  for (index_t r = -point.integer("warmups"); r < point.integer("repetitions"); ++r) {
    if (r > -point.integer("warmups") && run::stop_requested(comm)) throw run::Stopped();
    const double seconds = probe.run();
    if (r < 0) continue;
    mpi::Phases phases;
    phases.add("device", seconds);
    measured.seconds.push_back(seconds);
    measured.phases.push_back(std::move(phases));
  }
}

}  // namespace

void sort_out(run::Parsed& parsed) {
  const std::vector<std::string> kernels = named(parsed);
  const auto given = [&](const std::string& option) {
    return parsed.sources.at(option) != "default";
  };
  if (kernels.empty()) {
    for (const DeviceParameter& p : memory::device_parameters())
      require(!given(p.name), ExitCode::usage,
              fmt::format("--{} is an option of GPU probes; select one with --kernel, or drop it",
                          p.name));
    return;
  }
  for (const char* option : {"probe", "stride"})
    require(!given(option), ExitCode::usage,
            fmt::format(
                "--{} (walks on the CPU) conflicts with --kernel (GPU probes); drop one of them",
                option));
  const DeviceProbeVariant& first = row_of(kernels.front());
  for (const std::string& kernel : kernels) {
    const DeviceProbeVariant& row = row_of(kernel);
    require(std::string_view(row.units) == first.units, ExitCode::usage,
            fmt::format("kernel {} is measured in {}, {} in {}; run them separately", first.name,
                        first.units, row.name, row.units));
    for (const DeviceParameter& p : memory::device_parameters())
      require(takes(row, p) || !given(p.name), ExitCode::usage,
              fmt::format("kernel {} does not support --{}; drop it, or run that kernel separately",
                          kernel, p.name));
  }
  parsed.lists["probe"] = {""};  // one point per kernel, not per walk
}

bool on_device(const Values& point) { return point.has("kernel"); }

bool run_on_device(const mpi::Communicator& comm, const Values& point, const run::Parsed& parsed,
                   run::Session& session) {
  const DeviceProbeVariant& row = row_of(point.text("kernel"));
  run::require_gpu(comm, point, row.name);
  DeviceWalk walk;
  mpi::together(comm, "options", [&] { walk = walk_of(point); });
  const index_t on_host = checked_mul(walk.bytes, row.host_arrays, "size of the arrays of a probe");
  session.plan_memory(
      run::require_memory(comm, point, {on_host}, [&](index_t) { return on_host; }));
  std::unique_ptr<memory::DeviceProbe> probe;
  mpi::together(comm, "allocate", [&] {
    const index_t needed = device_bytes(row, walk), free = machine::free_gpu_memory();
    require(needed <= free / 10 * 9, ExitCode::memory,
            fmt::format("kernel {} needs {} of device memory: {} are free; use a smaller --size",
                        row.name, human_bytes(needed), human_bytes(free)));
    probe = make_probe(row, walk);
    require(probe != nullptr || row.name != "cuda_peer_to_peer", ExitCode::usage,
            "kernel cuda_peer_to_peer needs two GPUs: this process sees one");
    require(probe != nullptr, ExitCode::usage,
            fmt::format("kernel {} needs tensor cores of compute capability 8.0 or later, and code "
                        "for them (CMAKE_CUDA_ARCHITECTURES); use cuda_fma_f64",
                        row.name));
  });
  run::Measured measured;
  measure(comm, point, *probe, measured);
  measured.columns = {
      {"kernel", std::string(row.name)}, {"size", walk.bytes, "B"}, {"rounds", walk.rounds}};
  for (const DeviceParameter* p : columns_of(parsed))
    measured.columns.push_back(column_of(walk, *p));
  measured.work = probe->work();
  measured.rate_units = row.units;
  measured.ceiling = row.ceiling;
  check(point, parsed, *probe, measured);
  if (auto rows = timeline_of(*probe); !rows.empty())
    measured.tables.push_back({io::schema::device_timeline, std::move(rows)});
  session.record(point, measured);
  return !measured.verdict || measured.verdict->passed();
}

void plan_on_device(const mpi::Communicator& comm, const Values& point) {
  const DeviceProbeVariant& row = row_of(point.text("kernel"));
  const DeviceWalk walk = walk_of(point);
  const index_t on_host = checked_mul(walk.bytes, row.host_arrays, "size of the arrays of a probe");
  fmt::print("{}: {} on the device, {} on the host\n", row.name,
             human_bytes(device_bytes(row, walk)), human_bytes(on_host));
  run::require_gpu(comm, point, row.name);
  (void)run::require_memory(comm, point, {on_host}, [&](index_t) { return on_host; });
}

}  // namespace tessera::inline v1::memory_probes
