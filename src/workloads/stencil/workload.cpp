#include "workloads/stencil/workload.hpp"

#include "run/memory_plan.hpp"

namespace tessera::workloads::stencil {

PointActions actions_of(const mpi::Communicator& comm, const std::shared_ptr<Inputs>& inputs) {
  const auto plan = [&comm, inputs](const run::Values& values, run::Session& session) {
    const Request request = resolve(comm, values, *inputs, session.ceilings());
    const index_t program = run::program_memory(comm, values);
    if (comm.is_root()) print_plan(request, program);
    run::require_planned_gpu(comm, values, request.method.kernel);
    run::require_planned_memory(comm, values, {values.has("ranks") ? 0 : memory_of(request, comm.rank())},
                            [&](index_t ranks) { return most_memory(request, ranks); });
  };
  const auto run = [&comm, inputs](const run::Values& values, run::Session& session) {
    const Request request = resolve(comm, values, *inputs, session.ceilings());
    session.plan_memory(run::require_memory(comm, values, {memory_of(request, comm.rank())},
                                            [&](index_t ranks) { return most_memory(request, ranks); }));
    const Point point{comm, values, request, *inputs, session};
    return run_steps(point);
  };
  const auto need = [&comm, inputs](const run::Values& values, const run::Ceilings& ceilings, index_t) {
    return need_of(resolve(comm, values, *inputs, ceilings));
  };
  return {plan, run, need};
}

Workload workload(const run::OptionSet& options) {
  using Names = OutputOption::Names;
  return {.options = &options, .outputs = {{"out", Names::datasets}, {"snapshots", Names::datasets}}};
}

}  // namespace tessera::workloads::stencil
