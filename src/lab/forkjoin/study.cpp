#include "lab/forkjoin/study.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/timer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::microscope {
namespace {

void require_size(const Program& program, index_t n) {
  require(n <= program.variant().most, ExitCode::usage,
          fmt::format("--n {} exceeds the limit of {}; use at most {}", n, program.kernel,
                      program.variant().most));
}

/// Returns the seconds of the probe with plain elements on this many threads.
Summary measured(const Request& request, index_t n, int threads) {
  const auto problem = request.program->variant().make(n, request.threshold);
  std::vector<double> seconds;
  for (index_t r = 0; r <= request.repetitions; ++r) {
    problem->prepare();
    const Timer timer;
    machine::parallel(threads, [&] { problem->run(); });
    if (r > 0) seconds.push_back(timer.seconds());  // the first run warms up
    require(problem->mistakes() == 0, ExitCode::verification,
            "verification failed: a result is wrong; please report this with the command line");
    mpi::heartbeat();
  }
  return summarize(seconds);
}

}  // namespace

Study examine(const Request& request) {
  Study study{.request = request, .sizes = {}, .serial = {}, .executions = {}};
  const Program& program = *request.program;
  const Keep keep = request.n && request.caches ? Keep::accesses : Keep::totals;
  for (const index_t n : request.n ? std::vector{*request.n} : program.sizes) {
    require_size(program, n);
    study.sizes.push_back({n, record(program.make, n, request.threshold, keep)});
    if (!request.n) study.sizes.back().all.forget_graph();
    mpi::heartbeat();
  }
  if (!request.n) return study;
  if (study.all().loads + study.all().stores == 0) study.request.caches.reset();
  const std::optional<Caches>& caches = study.request.caches;
  if (caches)
    study.serial = replay(study.all(), work_stealing(study.all(), 1, request.seed), *caches);
  std::set<int> processors(request.processors.begin(), request.processors.end());
  processors.insert(request.threads.begin(), request.threads.end());
  for (const int p : processors) {
    Execution one{
        .schedule = work_stealing(study.all(), p, request.seed), .traffic = {}, .seconds = {}};
    if (caches) one.traffic = replay(study.all(), one.schedule, *caches);
    const auto& threads = request.threads;
    if (std::find(threads.begin(), threads.end(), p) != threads.end())
      one.seconds = measured(request, *request.n, p);
    study.executions.push_back(std::move(one));
    mpi::heartbeat();
  }
  return study;
}

}  // namespace tessera::inline v1::microscope
