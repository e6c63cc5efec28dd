#include "commands/command.hpp"
#include "workloads/frame/points.hpp"

namespace tessera::apps {

Command workload_command(const workloads::Workload& workload,
                         std::function<workloads::Resolve(run::Parsed&)> look) {
  const auto prepare = [workload, look](run::Parsed parsed, const Arguments& arguments,
                                        ExitCode&) -> Body {
    check_request(workload, parsed);
    workloads::compute_once(workload, parsed);
    require(parsed.lists.at("timeline").front() != "true" || workloads::names(parsed, "results"),
            ExitCode::usage,
            "--timeline requires a results file; name it with --results");  // a batch script names
                                                                            // one itself
    const workloads::Resolve resolve = look(parsed);
    take_stop_signals(workload, parsed);
    return [workload, parsed, arguments, resolve](const mpi::Communicator& comm) {
      return run_points({comm, workload, parsed, arguments}, resolve);
    };
  };
  const auto plan = [workload, look](run::Parsed parsed, index_t ranks_per_node) -> Planner {
    check_request(workload, parsed);
    workloads::compute_once(workload, parsed);
    const workloads::Resolve resolve = look(parsed);
    return [workload, parsed, resolve, ranks_per_node](const mpi::Communicator& comm) {
      return needs_of({comm, workload, parsed, {}}, resolve, ranks_per_node);
    };
  };
  return {*workload.options, prepare, RankScope::on_all, plan};
}

}  // namespace tessera::apps
