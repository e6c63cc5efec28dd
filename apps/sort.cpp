#include "sort.hpp"

#include <fmt/format.h>

#include "base/progress.hpp"
#include "command.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/runtime.hpp"
#include "run/memory_plan.hpp"

namespace tessera::apps {
namespace {

using run::Values;
using sort::Inputs;
using sort::Request;

index_t most_memory(const Request& request, index_t ranks) {
  return sort::forecast_of(request, ranks).front().memory();  // the first ranks hold one item more, if any
}

/// Plans, measures, checks and writes one point; whether its result is right.
bool run_point(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
               run::Session& session) {
  const Request request = resolve(comm, point, inputs);
  if (point.flag("plan")) {
    const index_t on_node = comm.node().size();
    const index_t per_node =
        point.has("ranks") ? std::min<index_t>(request.ranks, machine::default_threads()) : on_node;
    if (comm.is_root()) sort::print_plan(request, session.ceilings(), per_node);
    return true;
  }
  if (session.has(point)) {
    session.skip(point);
    return true;
  }
  run::require_memory(comm, point,
                      sort::forecast_of(request, comm.size())[static_cast<std::size_t>(comm.rank())].memory(),
                      [&](index_t ranks) { return most_memory(request, ranks); });
  return request.task == sort::Task::keys ? run_keys(comm, point, inputs, request, session)
                                          : run_table(comm, point, inputs, request, session);
}

ExitCode run_all(const mpi::Communicator& comm, const run::OptionSet& set, const run::Parsed& parsed,
                 const Arguments& arguments, const Inputs& inputs) {
  run::Session session(comm, set, parsed, arguments);
  bool right = true;
  const auto points = set.points(parsed);
  Progress progress("points", static_cast<double>(points.size()),
                    comm.is_root() ? Progress::Shown::yes : Progress::Shown::no);
  for (std::size_t p = 0; p < points.size(); ++p) {
    right = run_point(comm, points[p], inputs, session) && right;
    progress.update(static_cast<double>(p + 1));
  }
  session.finish();
  if (!right && comm.is_root()) {
    mpi::print_error(
        "the check found the result wrong; nothing was written. Please report this with the command line");
  }
  return right ? ExitCode::ok : ExitCode::verification;
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
  return {set, [](run::Parsed parsed, const Arguments& arguments, ExitCode&) -> Body {
            sort_files_once(parsed);
            const auto inputs = sort::look_at_inputs(set, parsed);
            return [parsed, arguments, inputs](const mpi::Communicator& comm) {
              return run_all(comm, set, parsed, arguments, *inputs);
            };
          }};
}

}  // namespace tessera::apps
