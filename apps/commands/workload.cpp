#include <optional>

#include "commands/command.hpp"
#include "io/probe.hpp"
#include "run/each_file.hpp"
#include "workloads/frame/points.hpp"

namespace tessera::apps {

namespace {

/// The request for every input file, and that of all of them.
struct Inspected {
  std::vector<workloads::FileRequest> each;
  run::Parsed all;
};

}  // namespace

Command workload_command(const workloads::Workload& workload,
                         std::function<workloads::Resolve(run::Parsed&)> look) {
  const auto inspect = [workload, look](const run::Parsed& parsed) {
    check_request(workload, parsed);
    std::vector<std::string> outputs{"checkpoint"};
    for (const workloads::OutputOption& output : workload.outputs)
      outputs.emplace_back(output.option);
    std::vector<run::Parsed> each = run::each_file(parsed, outputs);
    Inspected inspected;
    std::optional<io::SharedExaminer> examiner;
    if (each.size() > 1) examiner.emplace();
    for (run::Parsed& one : each) {
      workloads::compute_once(workload, one);
      const workloads::Resolve resolve = look(one);
      inspected.each.push_back({one, resolve});
    }
    inspected.all = run::all_files(each);
    return inspected;
  };
  const auto prepare = [workload, inspect](const run::Parsed& parsed, const Arguments& arguments,
                                           ExitCode&) -> Body {
    require(parsed.lists.at("timeline").front() != "true" || workloads::names(parsed, "results"),
            ExitCode::usage,
            "--timeline requires a results file; name it with --results");  // a batch script names
                                                                            // one itself
    const Inspected found = inspect(parsed);
    take_stop_signals(workload, found.all);
    return [workload, found, arguments](const mpi::Communicator& comm) {
      return run_points({comm, workload, found.all, arguments}, found.each);
    };
  };
  const auto plan = [workload, inspect](const run::Parsed& parsed,
                                        index_t ranks_per_node) -> Planner {
    const Inspected found = inspect(parsed);
    return [workload, found, ranks_per_node](const mpi::Communicator& comm) {
      return needs_of({comm, workload, found.all, {}}, found.each, ranks_per_node);
    };
  };
  return {*workload.options, prepare, RankScope::on_all, plan};
}

}  // namespace tessera::apps
