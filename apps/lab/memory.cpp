#include "memory.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/table.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "io/schema.hpp"
#include "kernels/memory/device_probes.hpp"
#include "mpi/agreement.hpp"
#include "mpi/runtime.hpp"
#include "workloads/frame/points.hpp"
#include "run/common_options.hpp"
#include "run/memory_plan.hpp"
#include "run/session.hpp"

namespace tessera::apps {

namespace memory_probes {

namespace {

/// "cuda_copy_stride, cuda_shared_stride (default 1)".
std::string takers(const memory::DeviceParameter& parameter) {
  std::vector<std::string> names;
  index_t usual = 0;
  for (const auto& row : memory::device_probes()) {
    if (!takes(row, parameter)) continue;
    names.emplace_back(row.name);
    usual = row.usual.*parameter.member;
  }
  return fmt::format("{} (default {})", join(names, ", "), usual);
}

void add_walk(run::OptionSet& set) {
  const std::vector<std::string> names = run::names_of(memory::probes());
  set.add({.name = "probe",
           .kind = run::Kind::choice,
           .fallback = join(names, ","),
           .help = "what is walked, and how",
           .group = "Walk",
           .choices = names,
           .axis = true});
  set.add({.name = "size",
           .kind = run::Kind::bytes,
           .fallback = "0",
           .help = "bytes touched (conflict: 64 a row; on a GPU those of an array, 4 a thread where nothing "
                   "leaves the registers); 0: the probe's own",
           .group = "Walk",
           .axis = true,
           .low = 0,
           .high = 1e15});
  set.add(
      {.name = "stride",
       .kind = run::Kind::bytes,
       .fallback = "0",
       .help =
           "bytes from one touch to the next, from row to row, from counter to counter; 0: the probe's own",
       .group = "Walk",
       .axis = true,
       .low = 0,
       .high = 1e12});
  set.add({.name = "rounds",
           .kind = run::Kind::integer,
           .fallback = "0",
           .help =
               "times over the data; updates of a thread that shares; on a GPU launches in a row, or steps "
               "of a thread; 0: the probe's own",
           .group = "Walk",
           .axis = true,
           .low = 0,
           .high = 1e12});
  set.add({.name = "no-simulation",
           .kind = run::Kind::flag,
           .help = "only time",
           .group = "Walk",
           .identity = false});
}

void add_gpu(run::OptionSet& set) {
  set.add({.name = "kernel",
           .kind = run::Kind::choice,
           .help = "in place of a walk: what a GPU is asked",
           .group = "GPU",
           .choices = run::names_of(memory::device_probes()),
           .axis = true});
  for (const memory::DeviceParameter& p : memory::device_parameters()) {
    set.add({.name = p.name,
             .kind = run::Kind::integer,
             .help = fmt::format("{}; of {}", p.help, takers(p)),
             .group = "GPU",
             .axis = true,
             .low = static_cast<double>(p.low),
             .high = static_cast<double>(p.high)});
  }
}

}  // namespace

run::OptionSet declare() {
  run::OptionSet set(
      "memory", "the five kinds of cache miss, timed and simulated, each with its cure; and probes of a GPU",
      {"tessera memory --probe conflict,conflict_padded",
       "tessera memory --probe false_sharing --stride 8,16,32,64,128 --threads 2",
       "tessera memory --probe capacity,capacity_blocked --size 256KiB,1MiB,4MiB,16MiB,64MiB",
       "tessera memory --config configs/studies/five_misses.toml --results m.h5",
       "tessera memory --kernel cuda_copy_offset --offset 0:32",
       "tessera memory --kernel cuda_reduce_interleaved,cuda_reduce,cuda_read"});
  add_walk(set);
  add_gpu(set);
  run::add_common_options(set);
  return set;
}

}  // namespace memory_probes

namespace {

using memory::ProbeVariant;
using memory::Walk;
using memory_probes::Simulated;
using run::Values;

const ProbeVariant& row_of(const Values& point) {
  return *find_variant(memory::probes(), point.text("probe"));
}

Walk walk_of(const Values& point) {
  return memory::completed(row_of(point), {.bytes = point.bytes("size"),
                                           .stride = point.bytes("stride"),
                                           .rounds = point.integer("rounds"),
                                           .threads = run::threads_of(point)});
}

/// A probe's result beside that of the row it cures, run once: both did the same work.
run::Verdict check(const ProbeVariant& row, const Walk& walk, memory::Probe& probe) {
  const std::string_view other = row.cures.empty() ? row.name : row.cures;
  const auto suffering = find_variant(memory::probes(), other)->make(walk);
  suffering->prepare();
  suffering->run();
  probe.prepare();
  probe.run();
  return {"same result", probe.result() == suffering->result() ? 0.0 : 1.0, 0};
}

/// Where there are no hardware counters.
run::Counted stand_in(const Simulated& s, double touches) {
  run::Counts counts = run::unknown_counts;
  counts.l1_misses = s.l1_misses * touches;
  counts.l2_misses = s.l2_misses * touches;
  counts.llc_misses = s.llc_misses * touches;
  return {
      .source = "simulated", .reason = {}, .repetitions = {counts}, .accesses = touches, .what = "the walk"};
}

class Probes {
 public:
  explicit Probes(const mpi::Communicator& comm) : comm_(comm) {}

  bool run(const Values& point, run::Session& session) {
    const ProbeVariant& row = row_of(point);
    const Walk walk = walk_of(point);
    const index_t bytes = planned_bytes(row, walk) * (point.flag("no-verify") ? 1 : 2);
    session.plan_memory(run::require_memory(comm_, point, {bytes}, [&](index_t) { return bytes; }));
    std::unique_ptr<memory::Probe> probe;
    mpi::together(comm_, "allocate", [&] { probe = row.make(walk); });
    run::Measured measured = run::measure(
        comm_, point, [&] { probe->prepare(); }, [&](mpi::Phases&) { probe->run(); });
    measured.columns = {{"probe", std::string(row.name)},
                        {"kind", std::string(name(row.kind))},
                        {"size", walk.bytes, "B"},
                        {"stride", walk.stride, "B"},
                        {"rounds", walk.rounds}};
    measured.work = static_cast<double>(probe->touches());
    measured.rate_units = "Mtouches/s";
    if (!point.flag("no-verify")) measured.verdict = check(row, walk, *probe);
    std::optional<Simulated> found;
    const auto simulated = [&]() -> const Simulated& {
      if (!found) found = memory_probes::simulate(row, walk);
      return *found;
    };
    measured.stand_in = [&] { return stand_in(simulated(), measured.work); };
    const double median = summarize(measured.seconds).median;
    session.record(point, measured);
    if (!point.flag("no-simulation"))
      add_simulated(point, session, row, walk, simulated(), median / measured.work);
    return !measured.verdict || measured.verdict->passed();
  }

  void plan(const Values& point) const {
    const index_t bytes = planned_bytes(row_of(point), walk_of(point));
    fmt::print("{}: {}\n", point.text("probe"), human_bytes(bytes));
    const index_t with_check = bytes * (point.flag("no-verify") ? 1 : 2);
    (void)run::require_memory(comm_, point, {with_check}, [&](index_t) { return with_check; });
  }

  void print() const {
    if (comm_.is_root() && !table_.empty())
      fmt::print("\nsimulated misses per touch, caches of this machine's sizes:\n{}", table_.text());
  }

 private:
  void add_simulated(const Values& point, run::Session& session, const ProbeVariant& row, const Walk& walk,
                     const Simulated& s, double seconds) {
    const auto text = [](double value) {
      return fmt::format("{:.4f}", std::abs(value) < 5e-5 ? 0.0 : value);
    };
    table_.add({std::string(row.name), std::to_string(walk.bytes), std::to_string(walk.stride),
                std::to_string(walk.threads), fmt::format("{:.2f}", seconds * 1e9), text(s.l1_misses),
                text(s.l1_conflicts), text(s.l2_misses), text(s.llc_misses), text(s.true_sharing),
                text(s.false_sharing)});
    session.record_tables({{io::schema::simulated,
                            {{{"point", session.key(point), ""},
                              {"probe", std::string(row.name), ""},
                              {"source", std::string("simulated"), ""},
                              {"l1_misses", s.l1_misses, "1/touch"},
                              {"l1_conflicts", s.l1_conflicts, "1/touch"},
                              {"l2_misses", s.l2_misses, "1/touch"},
                              {"llc_misses", s.llc_misses, "1/touch"},
                              {"true_sharing", s.true_sharing, "1/touch"},
                              {"false_sharing", s.false_sharing, "1/touch"}}}}});
  }

  const mpi::Communicator& comm_;
  Table table_{{"probe", "size", "stride", "threads", "ns a touch", "L1", "of them conflicts", "L2", "LLC",
                "true sharing", "false sharing"}};
};

ExitCode run_all(const mpi::Communicator& comm, const run::OptionSet& set, const run::Parsed& parsed,
                 const Arguments& arguments) {
  mpi::together(comm, "start", [&] {
    require(comm.size() == 1, ExitCode::usage,
            "memory looks at the threads of one rank; run it without mpirun, or with -n 1");
  });
  Probes probes(comm);
  const ExitCode code = workloads::run_points({comm, {.options = &set}, parsed, arguments},
                                   {.plan =
                                        [&](const Values& point, run::Session&) {
                                          if (memory_probes::on_device(point))
                                            return memory_probes::plan_on_device(comm, point);
                                          probes.plan(point);
                                        },
                                    .run =
                                        [&](const Values& point, run::Session& session) {
                                          if (memory_probes::on_device(point))
                                            return memory_probes::run_on_device(comm, point, parsed, session);
                                          return probes.run(point, session);
                                        }});
  probes.print();
  return code;
}

}  // namespace

Command memory_command() {
  static const run::OptionSet set = memory_probes::declare();
  return {set, [](run::Parsed parsed, const Arguments& arguments, ExitCode&) -> Body {
            memory_probes::sort_out(parsed);
            return [parsed, arguments](const mpi::Communicator& comm) {
              return run_all(comm, set, parsed, arguments);
            };
          }};
}

}  // namespace tessera::apps
