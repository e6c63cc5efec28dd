// Actions on a point of any workload.

#include <fmt/format.h>

#include <algorithm>

#include "base/note.hpp"
#include "base/text.hpp"
#include "machine/fork_join.hpp"
#include "run/device.hpp"
#include "run/memory_plan.hpp"
#include "workloads/frame/points.hpp"

namespace tessera::workloads {
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

/// Prints the time of all repetitions, if there are several and the machine was measured.
void print_repetitions(const run::Values& values, const PlannedPoint& point, const Need& need) {
  const index_t times = times_computed(values, point);
  if (times < 2 || need.seconds < 0) return;
  fmt::print("the run computes this {} times{}: predicted {}, without input, check and files\n",
             times,
             values.integer("warmups") == 0
                 ? ""
                 : fmt::format(", {} of them to warm up", values.integer("warmups")),
             human_seconds(need.seconds * static_cast<double>(times)));
}

/// Prints the plan; throws the error of a run that cannot execute it. Collective.
void plan_point(const mpi::Communicator& comm, const run::Values& values, const PlannedPoint& point,
                const run::Ceilings& ceilings) {
  const index_t per_node = ranks_per_node(comm, values);
  point.print(ceilings, per_node);
  if (comm.is_root()) print_repetitions(values, point, point.need(ceilings, per_node));
  run::require_planned_gpu(comm, values, point.kernel());
  if (point.mode() == Mode::out_of_core) return;
  run::require_planned_memory(comm, values, values.has("ranks") ? run::Held{} : point.held(),
                              [&](index_t ranks) { return point.most_memory(ranks); });
}

/// Runs a point. Returns whether the result is right. Collective.
bool run_point(const mpi::Communicator& comm, const run::Values& values, const PlannedPoint& point,
               run::Session& session) {
  if (const index_t idle = point.idle_ranks(); idle > 0 && comm.is_root())
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

}  // namespace

ExitCode run_points(const SweepRequest& sweep, const Resolve& resolve) {
  const mpi::Communicator& comm = sweep.comm;
  const auto plan = [&](const run::Values& values, run::Session& session) {
    plan_point(comm, values, *resolve(comm, values, session.ceilings()), session.ceilings());
  };
  const auto run = [&](const run::Values& values, run::Session& session) {
    return run_point(comm, values, *resolve(comm, values, session.ceilings()), session);
  };
  return run_points(sweep, PointActions{plan, run});
}

std::vector<Need> needs_of(const SweepRequest& sweep, const Resolve& resolve,
                           index_t ranks_per_node) {
  const run::Ceilings ceilings = run::load_ceilings(run::ceilings_file());
  std::vector<Need> result;
  for (const run::Values& values : points_of(*sweep.workload.options, sweep.parsed)) {
    const auto point = resolve(sweep.comm, values, ceilings);
    Need& need = result.emplace_back(point->need(ceilings, ranks_per_node));
    if (const index_t limit = values.bytes("memory"); limit > 0 && point->may_go_out_of_core())
      need.memory = std::min(need.memory, limit);
    need.repetitions = times_computed(values, *point);
  }
  return result;
}

}  // namespace tessera::workloads
