#pragma once
// What every workload's command does with its sweep.

#include <functional>

#include "command.hpp"
#include "run/session.hpp"

namespace tessera::apps {

struct Sweep {
  const mpi::Communicator& comm;
  const run::OptionSet& set;
  const run::Parsed& parsed;
  const Arguments& arguments;
};

/// What a command can do with a point; both are called on every rank.
struct PointActions {
  std::function<void(const run::Values&, run::Session&)> plan;  ///< prints it
  std::function<bool(const run::Values&, run::Session&)> run;   ///< whether the result is right
};

/// Plans every point (--plan), or runs those that the results file does not hold yet and prints the table.
/// Collective.
[[nodiscard]] ExitCode run_points(const Sweep& sweep, const PointActions& actions);

}  // namespace tessera::apps
