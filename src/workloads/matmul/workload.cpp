#include "workloads/matmul/workload.hpp"

#include <algorithm>

#include "machine/fork_join.hpp"

namespace tessera::workloads::matmul {
namespace {

using run::Values;

/// What this rank will hold; where a plan is for fewer ranks, the last one's.
run::Held held_here(const mpi::Communicator& comm, const Request& request) {
  const auto forecasts = forecast(request.shape, request.method);
  const auto& mine = forecasts[std::min(static_cast<std::size_t>(comm.rank()), forecasts.size() - 1)];
  return {mine.memory(), mine.seen_bytes};
}

}  // namespace

PointActions actions_of(const mpi::Communicator& comm, const std::shared_ptr<Inputs>& inputs) {
  const auto plan = [&comm, inputs](const Values& point, run::Session& session) {
    const Request request = resolve(comm, point, *inputs);
    const index_t on_node = comm.node().size();
    const index_t per_node =
        point.has("ranks") ? std::min<index_t>(point.integer("ranks"), machine::default_threads()) : on_node;
    const auto stream = stream_if_needed(comm, point, request, *inputs);
    const index_t program = run::program_memory(comm, point);
    if (stream && comm.is_root()) print_stream(request, *stream, program);
    if (!stream && comm.is_root()) print_plan(request, session.ceilings(), per_node, program);
    run::require_planned_gpu(comm, point, request.method.kernel);
    if (stream) return;
    run::require_planned_memory(comm, point, held_here(comm, request),
                            [&](index_t ranks) { return most_memory(request, ranks); });
  };
  const auto run = [&comm, inputs](const Values& values, run::Session& session) {
    const Request request = resolve(comm, values, *inputs);
    const Point point{comm, values, request, *inputs, session};
    if (const auto stream = stream_if_needed(comm, values, request, *inputs))
      return run_stream(point, *stream);
    session.plan_memory(run::require_memory(comm, values, held_here(comm, request),
                                            [&](index_t ranks) { return most_memory(request, ranks); }));
    return run_in_memory(point);
  };
  const auto need = [&comm, inputs](const Values& point, const run::Ceilings& ceilings, index_t per_node) {
    const Request request = resolve(comm, point, *inputs);
    Need most = need_of(request, ceilings, per_node);
    if (const index_t limit = point.bytes("memory"); limit > 0 && can_stream(point, request))
      most.memory = std::min(most.memory, limit);  // out of core
    return most;
  };
  return {plan, run, need};
}

Workload workload(const run::OptionSet& options) {
  return {.options = &options, .outputs = {{"out"}}, .auto_takes_gpus = true};
}

}  // namespace tessera::workloads::matmul
