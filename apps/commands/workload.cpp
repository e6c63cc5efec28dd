#include <optional>
#include <utility>

#include "commands/command.hpp"
#include "io/probe.hpp"
#include "run/each_file.hpp"
#include "workloads/frame/points.hpp"

namespace tessera::apps {

Command workload_command(const workloads::Workload& workload,
                         std::function<workloads::Resolve(run::Parsed&)> look) {
  // Returns the request for every input file, each inspected, and that of all of them.
  const auto inspect = [workload, look](run::Parsed parsed) {
    check_request(workload, parsed);
    std::vector<std::string> outputs{"checkpoint"};
    for (const workloads::OutputOption& output : workload.outputs)
      outputs.emplace_back(output.option);
    std::vector<run::Parsed> each = run::each_file(parsed, outputs);
    std::vector<workloads::FileRequest> requests;
    std::optional<io::SharedExaminer> examiner;
    if (each.size() > 1) examiner.emplace();
    for (run::Parsed& one : each) {
      workloads::compute_once(workload, one);
      const workloads::Resolve resolve = look(one);
      requests.push_back({one, resolve});
    }
    return std::pair(requests, run::all_files(each));
  };
  const auto prepare = [workload, inspect](const run::Parsed& parsed, const Arguments& arguments,
                                           ExitCode&) -> Body {
    require(parsed.lists.at("timeline").front() != "true" || workloads::names(parsed, "results"),
            ExitCode::usage,
            "--timeline requires a results file; name it with --results");  // a batch script names
                                                                            // one itself
    const auto [requests, all] = inspect(parsed);
    take_stop_signals(workload, all);
    return [workload, requests, all, arguments](const mpi::Communicator& comm) {
      return run_points({comm, workload, all, arguments}, requests);
    };
  };
  const auto plan = [workload, inspect](const run::Parsed& parsed,
                                        index_t ranks_per_node) -> Planner {
    const auto [requests, all] = inspect(parsed);
    return [workload, requests, all, ranks_per_node](const mpi::Communicator& comm) {
      return needs_of({comm, workload, all, {}}, requests, ranks_per_node);
    };
  };
  return {*workload.options, prepare, RankScope::on_all, plan};
}

}  // namespace tessera::apps
