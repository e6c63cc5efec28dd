#include "workloads/sort/workload.hpp"

#include <fmt/format.h>

#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "run/device.hpp"
#include "run/memory_plan.hpp"

namespace tessera::workloads::sort {
namespace {

using run::Values;

index_t most_memory(const Request& request, index_t ranks) {
  index_t most = 0;
  for (const dist::sort::Forecast& f : forecast_of(request, ranks)) most = std::max(most, f.memory());
  return most;
}

/// From file to file through sorted runs, or block by block.
bool can_go_out_of_core(const Values& point, const Request& request) {
  const bool rows = request.task == Task::keys || (request.task == Task::permutation && !request.generated());
  if (request.task == Task::apply) return point.has("out");
  return rows && (point.has("out") || point.has("argsort"));
}

/// Asked for, or more than the ranks may hold. Collective.
bool goes_out_of_core(const mpi::Communicator& comm, const Values& point, const Request& request) {
  const std::string& wanted = point.text("out-of-core");
  const bool can = can_go_out_of_core(point, request);
  mpi::together(comm, "plan", [&] {
    require(wanted != "always" || can, ExitCode::usage,
            "--out-of-core always goes with --out or --argsort of a file's rows");
  });
  if (wanted == "never" || !can) return false;
  return wanted == "always" || most_memory(request, comm.size()) > run::memory_allowance(comm, point);
}

/// The point with everything looked up; in rounds where there is no memory for all at once. Collective.
Request resolve_to_fit(const mpi::Communicator& comm, const Values& point, const Inputs& inputs) {
  Request request = resolve(comm, point, inputs);
  const bool may = request.task == Task::keys && request.algorithm == "exact" && !point.has("ranks");
  if (!may) return request;
  const index_t allowance = run::memory_allowance(comm, point);
  if (most_memory(request, comm.size()) <= allowance) return request;
  Request frugal = request;
  frugal.algorithm = "rounds";
  frugal.method.algorithm = dist::sort::Algorithm::rounds;
  return most_memory(frugal, comm.size()) <= allowance ? frugal : request;
}

/// The file of the columns: what is known of one of its names is known of the next while it stays open.
io::Handle hold_open(const mpi::Communicator& comm, const Inputs& inputs) {
  io::Handle file;
  mpi::together(comm, "open input", [&] {
    if (inputs.data) file = io::open_file(inputs.data->name().file);
  });
  return file;
}

index_t own_memory(const mpi::Communicator& comm, const Request& request) {
  return forecast_of(request, comm.size())[static_cast<std::size_t>(comm.rank())].memory();
}

}  // namespace

PointActions actions_of(const mpi::Communicator& comm, const std::shared_ptr<const Inputs>& inputs) {
  const auto plan = [&comm, inputs](const Values& values, run::Session& session) {
    const Request request = resolve_to_fit(comm, values, *inputs);
    if (request.task == Task::quantiles)
      return print_quantiles_plan({comm, values, request, *inputs, session});
    const auto* const kernel = find_variant(tessera::sort::variants(), request.method.kernel);
    if (!values.has("ranks") && goes_out_of_core(comm, values, request)) {
      print_external({comm, values, request, *inputs, session});
      return run::require_planned_gpu(comm, values, kernel);
    }
    const index_t on_node = comm.node().size();
    const index_t per_node =
        values.has("ranks") ? std::min<index_t>(request.ranks, machine::default_threads()) : on_node;
    const index_t program = run::program_memory(comm, values);
    if (comm.is_root()) print_plan(request, session.ceilings(), per_node, program);
    run::require_planned_gpu(comm, values, kernel);
    run::require_planned_memory(comm, values, {own_memory(comm, request)},
                                [&](index_t ranks) { return most_memory(request, ranks); });
  };
  const auto run = [&comm, inputs](const Values& values, run::Session& session) {
    const Request request = resolve_to_fit(comm, values, *inputs);
    const Point point{comm, values, request, *inputs, session};
    const io::Handle held = hold_open(comm, *inputs);
    if (request.task == Task::quantiles) return run_quantiles(point);
    if (goes_out_of_core(comm, values, request)) return run_external(point);
    if (values.has("scratch") && comm.is_root())
      fmt::print("--scratch was not needed: all is in memory (--out-of-core always goes through files)\n");
    session.plan_memory(run::require_memory(comm, values, {own_memory(comm, request)},
                                            [&](index_t ranks) { return most_memory(request, ranks); }));
    return request.task == Task::keys ? run_keys(point) : run_table(point);
  };
  const auto need = [&comm, inputs](const Values& point, const run::Ceilings& ceilings, index_t per_node) {
    const Request request = resolve(comm, point, *inputs);
    Need most = need_of(request, ceilings, per_node);
    const index_t limit = point.bytes("memory");
    if (limit > 0 && can_go_out_of_core(point, request))
      most.memory = std::min(most.memory, limit);  // out of core
    if (request.task == Task::quantiles)
      most.memory = quantiles_memory(request, limit > 0 ? limit : most.memory);
    return most;
  };
  return {plan, run, need};
}

Workload workload(const run::OptionSet& options) {
  const auto leaves = [](const run::Parsed& parsed) {
    const bool keeps_runs = parsed.lists.at("out-of-core").front() != "never" &&
                            (names(parsed, "out") || (names(parsed, "argsort") && names(parsed, "in"))) &&
                            !names(parsed, "apply") && !names(parsed, "quantiles");
    return keeps_runs ? Leaves::always : Leaves::nothing;
  };
  return {.options = &options,
          .outputs = {{"out", OutputOption::Names::table}, {"argsort"}},
          .leaves = leaves};
}

}  // namespace tessera::workloads::sort
