#include "lab/memory/memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/table.hpp"
#include "base/text.hpp"
#include "io/schema.hpp"
#include "mpi/agreement.hpp"
#include "run/measured_text.hpp"
#include "run/memory_plan.hpp"
#include "run/session.hpp"
#include "workloads/frame/points.hpp"

namespace tessera::inline v1::memory_probes {
namespace {

using memory::ProbeVariant;
using memory::Walk;
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

/// Compares the probe's result with one run of the row it cures: both did the same work.
run::Verdict check(const ProbeVariant& row, const Walk& walk, memory::Probe& probe) {
  const std::string_view other = row.cures.empty() ? row.name : row.cures;
  const auto suffering = find_variant(memory::probes(), other)->make(walk);
  suffering->prepare();
  suffering->run();
  probe.prepare();
  probe.run();
  return {"same result", probe.result() == suffering->result() ? 0.0 : 1.0, 0};
}

/// Returns the simulated counts of a run of `touches` touches, for machines without hardware
/// counters.
run::Counted simulated_counts(const Simulated& s, double touches) {
  run::Counts counts = run::unknown_counts;
  counts.l1_misses = s.l1_misses * touches;
  counts.l2_misses = s.l2_misses * touches;
  counts.llc_misses = s.llc_misses * touches;
  return {.source = "simulated",
          .reason = {},
          .repetitions = {counts},
          .accesses = touches,
          .what = "the walk"};
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
    measured.unused = {"kind"};  // on the terminal: the probe is named after it
    if (point.integer("rounds") == 0) measured.unused.insert("rounds");  // those of the probe
    measured.work = static_cast<double>(probe->touches());
    measured.rate_units = "Mtouches/s";
    if (!point.flag("no-verify")) measured.verdict = check(row, walk, *probe);
    std::optional<Simulated> found;
    const auto simulated = [&]() -> const Simulated& {
      if (!found) found = simulate(row, walk);
      return *found;
    };
    measured.simulated_counts = [&] { return simulated_counts(simulated(), measured.work); };
    const double median = summarize(measured.seconds).median;
    session.record(point, measured);
    if (!point.flag("no-simulation"))
      add_simulated(point, session, simulated(), median / measured.work);
    return !measured.verdict || measured.verdict->passed();
  }

  void plan(const Values& point) const {
    const index_t bytes = planned_bytes(row_of(point), walk_of(point));
    fmt::print("{}: {}\n", point.text("probe"), human_bytes(bytes));
    const index_t with_check = bytes * (point.flag("no-verify") ? 1 : 2);
    (void)run::require_memory(comm_, point, {with_check}, [&](index_t) { return with_check; });
  }

  void print() const {
    if (!comm_.is_root() || simulated_.empty()) return;
    std::vector<std::string> headings{"probe"};
    for (std::size_t s = 0; s < swept.size(); ++s)
      if (varies(s)) headings.emplace_back(swept[s]);
    const bool timed = headings.size() == 1;  // a setting needs the room; the table above has rates
    if (timed) headings.emplace_back("ns/touch");
    headings.insert(headings.end(),
                    {"L1", "L1 conflicts", "L2", "LLC", "true sharing", "false sharing"});
    Table table(std::move(headings));
    for (const SimulatedRow& row : simulated_) {
      std::vector<std::string> cells{row.probe};
      for (std::size_t s = 0; s < swept.size(); ++s)
        if (varies(s)) cells.push_back(row.settings[s]);
      if (timed) cells.push_back(row.time);
      cells.insert(cells.end(), row.misses.begin(), row.misses.end());
      table.add(std::move(cells));
    }
    fmt::print("\nsimulated misses per touch, cache sizes of this machine:\n{}",
               table.within(terminal_columns()));
  }

 private:
  void add_simulated(const Values& point, run::Session& session, const Simulated& s,
                     double seconds) {
    const ProbeVariant& row = row_of(point);
    const Walk walk = walk_of(point);
    const auto text = [](double value) {
      return fmt::format("{:.4f}", std::abs(value) < 5e-5 ? 0.0 : value);
    };
    simulated_.push_back({std::string(row.name),
                          {run::exact_bytes(walk.bytes), run::exact_bytes(walk.stride),
                           std::to_string(walk.rounds), std::to_string(walk.threads)},
                          fmt::format("{:.2f}", seconds * 1e9),
                          {text(s.l1_misses), text(s.l1_conflicts), text(s.l2_misses),
                           text(s.llc_misses), text(s.true_sharing), text(s.false_sharing)}});
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

  static constexpr std::array swept{"size", "stride", "rounds", "threads"};
  struct SimulatedRow {
    std::string probe;
    std::array<std::string, swept.size()> settings;
    std::string time;  ///< ns a touch
    std::array<std::string, 6> misses;
  };

  /// Returns whether rows of one probe differ in this setting.
  [[nodiscard]] bool varies(std::size_t setting) const {
    return std::any_of(simulated_.begin(), simulated_.end(), [&](const SimulatedRow& one) {
      return std::any_of(simulated_.begin(), simulated_.end(), [&](const SimulatedRow& other) {
        return one.probe == other.probe && one.settings[setting] != other.settings[setting];
      });
    });
  }

  const mpi::Communicator& comm_;
  std::vector<SimulatedRow> simulated_;
};

}  // namespace

ExitCode run_all(const mpi::Communicator& comm, const run::OptionSet& set,
                 const run::Parsed& parsed, const std::vector<std::string>& arguments) {
  mpi::together(comm, "start", [&] {
    require(comm.size() == 1, ExitCode::usage,
            "memory measures the threads of one rank; run it without mpirun, or with -n 1");
  });
  Probes probes(comm);
  const ExitCode code =
      workloads::run_points({comm, {.options = &set}, parsed, arguments},
                            {{&parsed,
                              {.plan =
                                   [&](const Values& point, run::Session&) {
                                     if (on_device(point)) return plan_on_device(comm, point);
                                     probes.plan(point);
                                   },
                               .run =
                                   [&](const Values& point, run::Session& session) {
                                     if (on_device(point))
                                       return run_on_device(comm, point, parsed, session);
                                     return probes.run(point, session);
                                   }}}});
  probes.print();
  return code;
}

}  // namespace tessera::inline v1::memory_probes
