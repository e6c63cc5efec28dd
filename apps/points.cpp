#include "points.hpp"

#include "base/progress.hpp"
#include "mpi/runtime.hpp"

namespace tessera::apps {

ExitCode run_points(const Sweep& sweep, const PointActions& actions) {
  run::Session session(sweep.comm, sweep.set, sweep.parsed, sweep.arguments);
  bool right = true;
  const auto points = sweep.set.points(sweep.parsed);
  Progress progress("points", static_cast<double>(points.size()),
                    sweep.comm.is_root() ? Progress::Shown::yes : Progress::Shown::no);
  for (std::size_t p = 0; p < points.size(); ++p) {
    const run::Values& point = points[p];
    if (point.flag("plan")) {
      actions.plan(point, session);
    } else if (session.has(point)) {
      session.skip(point);
    } else {
      right = actions.run(point, session) && right;
    }
    progress.update(static_cast<double>(p + 1));
  }
  session.finish();
  if (!right && sweep.comm.is_root()) {
    mpi::print_error(
        "the check found the result wrong; nothing was written. Please report this with the command line");
  }
  return right ? ExitCode::ok : ExitCode::verification;
}

}  // namespace tessera::apps
