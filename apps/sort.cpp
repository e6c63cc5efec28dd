#include "sort.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "machine/fork_join.hpp"
#include "points.hpp"
#include "run/memory_plan.hpp"

namespace tessera::apps {
namespace {

using run::Values;
using sort::Inputs;
using sort::Request;

index_t most_memory(const Request& request, index_t ranks) {
  return sort::forecast_of(request, ranks).front().memory();  // the first ranks hold one item more, if any
}

PointActions actions_of(const mpi::Communicator& comm, const std::shared_ptr<const Inputs>& inputs) {
  const auto plan = [&comm, inputs](const Values& point, run::Session& session) {
    const Request request = resolve(comm, point, *inputs);
    const index_t on_node = comm.node().size();
    const index_t per_node =
        point.has("ranks") ? std::min<index_t>(request.ranks, machine::default_threads()) : on_node;
    if (comm.is_root()) sort::print_plan(request, session.ceilings(), per_node);
  };
  const auto run = [&comm, inputs](const Values& point, run::Session& session) {
    const Request request = resolve(comm, point, *inputs);
    const auto forecasts = sort::forecast_of(request, comm.size());
    run::require_memory(comm, point, forecasts[static_cast<std::size_t>(comm.rank())].memory(),
                        [&](index_t ranks) { return most_memory(request, ranks); });
    if (request.task == sort::Task::quantiles) return run_quantiles(comm, point, *inputs, request, session);
    return request.task == sort::Task::keys ? run_keys(comm, point, *inputs, request, session)
                                            : run_table(comm, point, *inputs, request, session);
  };
  const auto need = [&comm, inputs](const Values& point, const run::Ceilings& ceilings, index_t per_node) {
    return sort::need_of(resolve(comm, point, *inputs), ceilings, per_node);
  };
  return {plan, run, need};
}

/// Who sorts a file wants it sorted, once; who measures says how often.
void sort_files_once(run::Parsed& parsed) {
  if (parsed.lists.at("in").front().empty()) return;
  for (const auto& [option, value] : {std::pair{"repetitions", "1"}, {"warmups", "0"}}) {
    if (parsed.sources.at(option) == "default") parsed.lists.at(option) = {value};
  }
}

}  // namespace

Command sort_command() {
  static const run::OptionSet set = sort::declare();
  return workload_command(set, [](run::Parsed& parsed) -> Actions {
    sort_files_once(parsed);
    const auto inputs = sort::look_at_inputs(set, parsed);
    return [inputs](const mpi::Communicator& comm) { return actions_of(comm, inputs); };
  });
}

}  // namespace tessera::apps
