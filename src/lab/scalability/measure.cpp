#include "lab/scalability/scalability.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/lines.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "io/results.hpp"
#include "kernels/forkjoin/task_costs.hpp"
#include "machine/fork_join.hpp"
#include "machine/waiting.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/runtime.hpp"
#include "run/memory_plan.hpp"
#include "run/threads.hpp"

namespace tessera::inline v1::scalability {
namespace {

using machine::TaskCosts;
using machine::WorkSpan;
using run::Values;

/// Returns 1, 2, 4, ... and `last`.
std::vector<int> doublings(int last) {
  std::vector<int> counts;
  for (int count = 1; count < last; count *= 2) counts.push_back(count);
  counts.push_back(last);
  return counts;
}

/// Returns the thread counts to measure: the user's, or doublings up to all cores; always with 1,
/// the reference of speed-ups.
std::vector<std::string> thread_counts(const run::Parsed& parsed) {
  std::set<int> counts{1};
  for (const std::string& text : parsed.lists.at("threads")) {
    const int given = std::stoi(text);
    for (const int count : given > 0 ? std::vector{given} : doublings(machine::default_threads()))
      counts.insert(count);
  }
  std::vector<std::string> texts;
  for (const int count : counts) texts.push_back(std::to_string(count));
  return texts;
}

/// Task costs of `tessera machine`, or measured now; cached for the rest of this run.
class Costs {
 public:
  Costs(const run::Ceilings& ceilings, const Values& point) : ceilings_(ceilings) {
    if (point.has("burden")) given_ = TaskCosts{0, 0, point.real("burden") * 1e-6};
  }
  TaskCosts at(int threads) {
    if (given_) return *given_;
    if (const auto kept = run::task_costs(ceilings_, threads)) return *kept;
    const int team = std::clamp(threads, 2, std::max(2, machine::default_threads()));
    const auto [found, fresh] = measured_.try_emplace(team);
    if (fresh) found->second = forkjoin::task_costs(team);
    return found->second;
  }

 private:
  const run::Ceilings& ceilings_;
  std::optional<TaskCosts> given_;
  std::map<int, TaskCosts> measured_;
};

// For strands at least this long on average, in seconds, the system call that reads the thread's
// CPU time is negligible; on a busy machine it is the lesser error well below that.
constexpr double long_strand = 20e-6, long_enough = 0.5e-6;
constexpr double busy = 0.01;  // share of its time that the thread waited for a core

/// Returns work and spans of several recordings, each strand with its least time, since noise only
/// adds: one disturbed strand of thousands would be the span. The first one determines the clock.
WorkSpan record(const Program& program, int processors, double burden, index_t recordings) {
  std::vector<double> strands;
  const auto once = [&](machine::Recorder::Clock clock) {
    program.prepare();
    const WorkSpan found = machine::record(
        burden, [&] { program.run(processors); }, clock, &strands);
    mpi::heartbeat();
    return found;
  };
  const double waited = machine::seconds_waited();
  WorkSpan found = once(machine::Recorder::steady_nanoseconds);
  const bool is_busy = machine::seconds_waited() - waited > busy * found.work;
  const double strand = found.work / static_cast<double>(3 * found.forks + 1);
  const bool own_time = strand > (is_busy ? long_enough : long_strand);
  if (own_time) {
    strands.clear();
    found = once(machine::Recorder::thread_nanoseconds);
  }
  for (index_t r = 1; r < recordings; ++r)
    found = once(own_time ? machine::Recorder::thread_nanoseconds
                          : machine::Recorder::steady_nanoseconds);
  return found;
}

/// Times on one number of threads.
struct Times {
  Summary seconds;
  double waited;  ///< share of the threads' time
};

Speedup speedup_of(const Times& one, const Times& many) {
  const Summary &a = one.seconds, &b = many.seconds;
  return {b.median, a.median / b.median, a.ci_low / b.ci_high, a.ci_high / b.ci_low,
          std::max(one.waited, many.waited)};
}

/// Points that differ in their number of threads only, the first one with one thread.
struct ThreadSeries {
  std::vector<Values> points;
  [[nodiscard]] const Values& first() const { return points.front(); }
};

std::vector<ThreadSeries> groups_of(const run::OptionSet& set, const run::Parsed& parsed) {
  std::vector<ThreadSeries> groups;
  std::set<std::string> seen;
  for (const Values& point : set.points(parsed)) {  // threads are the fastest axis
    Values whole = completed(point);
    if (!seen.insert(set.key(whole)).second) continue;  // repeated values of an axis
    if (point.integer("threads") == 1) groups.emplace_back();
    groups.back().points.push_back(std::move(whole));
  }
  return groups;
}

std::vector<io::Cell> columns_of(const Values& point) {
  std::vector<io::Cell> columns{{"workload", point.text("workload")},
                                {"kernel", point.text("kernel")},
                                {"type", point.text("type")},
                                {"n", point.integer("n")}};
  columns.push_back(
      {"threshold", point.has("threshold") ? point.integer("threshold") : index_t{-1}});
  columns.push_back(
      {"steps", point.text("workload") == "stencil" ? point.integer("steps") : index_t{-1}});
  return columns;
}

/// Returns the share of the threads' time spent waiting in the repetitions, the last of the runs.
double share_waited(const std::vector<double>& waits, const std::vector<double>& seconds,
                    int threads) {
  const auto count = static_cast<std::ptrdiff_t>(seconds.size());
  const double waited = std::accumulate(waits.end() - count, waits.end(), 0.0);
  return waited / (std::accumulate(seconds.begin(), seconds.end(), 0.0) * threads);
}

/// Times the program on every number of threads and records the samples. Returns false if a check
/// failed.
bool measure_group(const mpi::Communicator& comm, const ThreadSeries& group, const Program& program,
                   run::Session& session, std::map<int, Times>& times) {
  bool right = true;
  for (const Values& point : group.points) {
    const int threads = run::threads_of(point);
    std::vector<double> waits;
    run::Measured measured = run::measure(comm, point, program.prepare, [&](mpi::Phases&) {
      const double before = machine::seconds_waited();
      program.run(threads);
      waits.push_back(machine::seconds_waited() - before);
    });
    measured.columns = columns_of(point);
    measured.work = program.work;
    measured.rate_units = program.rate_units;
    measured.ceiling = program.ceiling;
    measured.simulated_counts = [&point] { return simulated_counts(point); };
    if (!point.flag("no-verify")) {
      const mpi::PhaseScope scope(measured.once, "verify");
      measured.verdict = program.check();
      right = right && measured.verdict->passed();
    }
    times[threads] = {summarize(measured.seconds), share_waited(waits, measured.seconds, threads)};
    session.record(point, measured);
  }
  return right;
}

std::vector<SpeedupForecast> forecasts_of(const Values& point, const Program& program,
                                          const std::map<int, Times>& times,
                                          const std::map<int, double>& contentions, Costs& costs) {
  std::set<int> processors;
  for (const int count : doublings(static_cast<int>(point.integer("processors"))))
    processors.insert(count);
  for (const auto& [threads, unused] : times) processors.insert(threads);
  if (processors.size() > 1) processors.erase(1);
  const bool oblivious = point.text("workload") == "forkjoin";  // the probes ignore the team's size
  std::vector<SpeedupForecast> forecasts;
  for (const int p : processors) {
    SpeedupForecast f{
        .processors = p, .found = {}, .costs = costs.at(p), .bounds = {}, .measured = {}};
    const double burden = f.costs.burden();
    const bool same = oblivious && !forecasts.empty() && forecasts.back().costs.burden() == burden;
    f.found =
        same ? forecasts.back().found : record(program, p, burden, point.integer("recordings"));
    f.bounds = machine::speedup_bounds(f.found, p, f.costs);
    if (times.contains(p)) f.measured = speedup_of(times.at(1), times.at(p));
    if (contentions.contains(p)) f.contention = contentions.at(p);
    forecasts.push_back(std::move(f));
  }
  return forecasts;
}

bool run_group(const mpi::Communicator& comm, const ThreadSeries& group, run::Session& session) {
  const auto bytes = static_cast<index_t>(bytes_of(group.first()));
  session.plan_memory(
      run::require_memory(comm, group.first(), {bytes}, [&](index_t) { return bytes; }));
  std::map<int, double> contentions;
  mpi::together(comm, "contention", [&] {
    for (const Values& point : group.points) {
      const int threads = run::threads_of(point);
      if (threads > machine::default_threads()) continue;  // they would share cores
      contentions[threads] =
          contention(group.first(), threads, group.first().integer("recordings"));
    }
  });
  Program program;
  mpi::together(comm, "allocate", [&] { program = make_program(group.first()); });
  std::map<int, Times> times;
  const bool right = measure_group(comm, group, program, session, times);
  Costs costs(session.ceilings(), group.first());
  const auto forecasts = forecasts_of(group.first(), program, times, contentions, costs);
  session.record_tables({rows_of(group.first(), program, forecasts)});
  if (comm.is_root()) {
    const std::size_t columns = terminal_columns();
    fmt::print("{}\n", text_of(group.first(), program, forecasts, columns));
  }
  return right;
}

void print_plan(const ThreadSeries& group) {
  const Values& point = group.first();
  std::vector<std::string> threads;
  for (const Values& p : group.points) threads.push_back(p.text("threads"));
  const std::string on =
      threads == std::vector<std::string>{"1"} ? "1 thread" : join(threads, ", ") + " threads";
  print_filled("{} {}, n {}: {}; timed on {}, recorded for up to {}", point.text("workload"),
               point.text("kernel"), point.text("n"), human_bytes(bytes_of(point)), on,
               counted(point.integer("processors"), "core"));
}

}  // namespace

ExitCode run_all(const mpi::Communicator& comm, const run::OptionSet& set, run::Parsed parsed,
                 const std::vector<std::string>& arguments) {
  parsed.lists["threads"] = thread_counts(parsed);
  mpi::together(comm, "start", [&] {
    require(comm.size() == 1, ExitCode::usage,
            "scalability measures the threads of one rank; run it without mpirun, or with -n 1");
    for (const std::string& threads : parsed.lists["threads"])
      run::require_threads(std::stoi(threads));
  });
  run::Session session(comm, set, parsed, arguments);
  bool right = true;
  for (const ThreadSeries& group : groups_of(set, parsed)) {
    if (group.first().flag("plan")) {
      print_plan(group);
      const auto bytes = static_cast<index_t>(bytes_of(group.first()));
      (void)run::require_memory(comm, group.first(), {bytes}, [&](index_t) { return bytes; });
      continue;
    }
    if (std::all_of(group.points.begin(), group.points.end(),
                    [&](const Values& p) { return session.has(p); })) {
      for (const Values& point : group.points) session.skip(point);
    } else {
      const std::string& results = parsed.lists.at("results").front();
      mpi::on_root(comm, "open results", [&] {
        if (!results.empty()) io::require_place_for_results(results);
      });
      right = run_group(comm, group, session) && right;
    }
  }
  session.finish();
  if (!right)
    mpi::print_error(
        "verification failed: a result is wrong; please report this with the command line");
  return right ? ExitCode::ok : ExitCode::verification;
}

}  // namespace tessera::inline v1::scalability
