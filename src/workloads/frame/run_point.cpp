// Actions on a point of any workload.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/lines.hpp"
#include "base/note.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "machine/fork_join.hpp"
#include "machine/load.hpp"
#include "mpi/runtime.hpp"
#include "run/answer.hpp"
#include "run/device.hpp"
#include "run/memory_plan.hpp"
#include "workloads/frame/points.hpp"
#include "workloads/frame/time.hpp"

namespace tessera::inline v1::workloads {
namespace {

/// Returns the ranks per node; for a plan with other ranks at most the cores of the node.
/// Collective.
index_t ranks_per_node(const mpi::Communicator& comm, const run::Values& values) {
  if (!values.has("ranks")) return comm.node().size();
  return std::min<index_t>(values.integer("ranks"), machine::default_threads());
}

/// Returns how often a point is computed, including warm-ups. Out of core it is computed once.
index_t times_computed(const run::Values& values, const PlannedPoint& point) {
  if (point.mode() == Mode::out_of_core) return 1;
  return values.integer("warmups") + values.integer("repetitions");
}

/// Returns the time of a point as typed. `start`: processor seconds of starting the program.
RunTime time_as_typed(const run::Values& values, const PlannedPoint& point,
                      const run::Ceilings& ceilings, JobSize job) {
  job.warmups = point.mode() == Mode::out_of_core ? 0 : values.integer("warmups");
  job.repetitions = times_computed(values, point) - job.warmups;
  Volumes volumes = point.volumes();
  const auto compress = values.all().find("compress");
  if (compress != values.all().end() && compress->second != "" && compress->second != "none")
    volumes.encoded = volumes.written;
  return time_of(volumes, point.need(ceilings, job.ranks_per_node).seconds, ceilings, job,
                 run::threads_of(values));
}

/// Returns the processor seconds of starting the program and looking at its inputs, for which it
/// starts processes.
double seconds_of_start() {
  return machine::own_processor_seconds() + machine::ended_children_seconds();
}

/// Returns the ranks that the plan is for.
index_t planned_ranks(const mpi::Communicator& comm, const run::Values& values) {
  return values.has("ranks") ? values.integer("ranks") : comm.size();
}

/// Prints the time of the run as typed, by phase, if the machine was measured.
void print_time(const run::Values& values, const PlannedPoint& point, const RunTime& time) {
  if (time.phases.empty()) return;
  if (const index_t times = times_computed(values, point); times > 1)
    print_filled("the run computes this {} times{}", times,
                 values.integer("warmups") == 0
                     ? ""
                     : fmt::format(", {} of them to warm up", values.integer("warmups")));
  fmt::print("{}\n", text_of(time, terminal_columns()));
}

/// Appends a plan to the answer.
void answer_plan(const PlannedPoint& point, index_t memory, const RunTime& time) {
  run::Json phases = run::Json::object();
  for (const auto& [phase, seconds] : time.phases) phases[phase] = seconds;
  const bool known = !time.phases.empty();
  run::answer().append("plans", {{"out_of_core", point.mode() == Mode::out_of_core},
                                 {"memory", memory},
                                 {"seconds", known ? run::Json(time.total()) : run::Json()},
                                 {"phases", phases},
                                 {"unknown", time.unknown}});
}

/// Prints the plan; throws the error of a run that cannot execute it. Collective.
void plan_point(const mpi::Communicator& comm, const run::Values& values, const PlannedPoint& point,
                const run::Ceilings& ceilings) {
  const index_t per_node = ranks_per_node(comm, values);
  point.print(ceilings, per_node);
  if (comm.is_root()) {
    const JobSize job{.ranks = planned_ranks(comm, values),
                      .ranks_per_node = per_node,
                      .start = seconds_of_start()};
    const RunTime time = time_as_typed(values, point, ceilings, job);
    print_time(values, point, time);
    answer_plan(point, point.need(ceilings, per_node).memory, time);
  }
  run::require_planned_gpu(comm, values, point.kernel());
  if (point.mode() == Mode::out_of_core) return;
  run::require_planned_memory(comm, values, values.has("ranks") ? run::Held{} : point.held(),
                              [&](index_t ranks) { return point.most_memory(ranks); });
}

/// Runs a point. Returns whether the result is right. Collective.
bool run_point(const mpi::Communicator& comm, const run::Values& values, const PlannedPoint& point,
               run::Session& session) {
  const index_t idle = point.idle_ranks();
  if (idle > 0 && idle < comm.size() && comm.is_root())
    print_note(fmt::format("note: {} of {} have no data, as the input is small; use {}", idle,
                           counted(comm.size(), "rank"), counted(comm.size() - idle, "rank")));
  if (point.mode() == Mode::in_memory) {
    const auto most = [&](index_t ranks) { return point.most_memory(ranks); };
    session.plan_memory(point.known_to_fit()
                            ? run::planned_memory(comm, values, point.held())
                            : run::require_memory(comm, values, point.held(), most));
  }
  return point.run(session);
}

/// Throws AgreedError unless every rank found the same files for --in. Collective.
void require_same_files(const mpi::Communicator& comm, const run::Parsed& parsed) {
  const auto inputs = parsed.lists.find("in");
  if (inputs == parsed.lists.end() || inputs->second.size() == 1) return;
  std::string mine;
  for (const std::string& input : inputs->second) mine += input + '\n';
  const std::string roots = comm.broadcast(mine, 0);
  mpi::together(comm, "open input", [&] {
    require(
        mine == roots, ExitCode::missing_input,
        fmt::format("rank {} on {} sees other files for --in than rank 0; use a folder that all "
                    "nodes share",
                    comm.rank(), mpi::host_name()));
  });
}

}  // namespace

ExitCode run_points(const SweepRequest& sweep, const std::vector<FileRequest>& each) {
  const mpi::Communicator& comm = sweep.comm;
  require_same_files(comm, sweep.parsed);
  std::vector<PartRequest> parts;
  for (const FileRequest& one : each) {
    const auto plan = [&comm, &resolve = one.resolve](const run::Values& values,
                                                      run::Session& session) {
      plan_point(comm, values, *resolve(comm, values, session.ceilings()), session.ceilings());
    };
    const auto run = [&comm, &resolve = one.resolve](const run::Values& values,
                                                     run::Session& session) {
      return run_point(comm, values, *resolve(comm, values, session.ceilings()), session);
    };
    parts.push_back({&one.parsed, {plan, run}});
  }
  return run_points(sweep, parts);
}

std::vector<Need> needs_of(const SweepRequest& sweep, const std::vector<FileRequest>& each,
                           index_t ranks_per_node) {
  const run::Ceilings ceilings = run::load_ceilings(run::ceilings_file());
  std::vector<Need> result;
  for (const auto& [parsed, resolve] : each) {
    for (const run::Values& values : points_of(*sweep.workload.options, parsed)) {
      const auto point = resolve(sweep.comm, values, ceilings);
      Need& need = result.emplace_back(point->need(ceilings, ranks_per_node));
      if (const index_t limit = values.bytes("memory"); limit > 0 && point->may_go_out_of_core())
        need.memory = std::min(need.memory, limit);
      need.repetitions = times_computed(values, *point);
      const JobSize job{.ranks = planned_ranks(sweep.comm, values),
                        .ranks_per_node = ranks_per_node,
                        .start = result.size() > 1 ? 0 : seconds_of_start()};
      need.total = time_as_typed(values, *point, ceilings, job).total();
    }
  }
  return result;
}

}  // namespace tessera::inline v1::workloads
