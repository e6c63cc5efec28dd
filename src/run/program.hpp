#pragma once
// A program of sub-commands: what it is told, and by which ranks its work is done.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::run {

/// What a point of a workload takes at most.
struct Need {
  index_t memory = 0;       ///< of any rank, bytes
  double seconds = -1;      ///< of one repetition; -1 where the machine was never measured
  index_t repetitions = 1;  ///< warm-ups among them
};

using Arguments = std::vector<std::string>;
/// What runs on all ranks once MPI is there.
using Body = std::function<ExitCode(const mpi::Communicator&)>;

/// What every point of a request takes; runs on one rank.
using Planner = std::function<std::vector<Need>(const mpi::Communicator&)>;

/// Who does a command's work where a launcher started several ranks.
enum class Runs {
  on_all,      ///< the ranks share it
  on_one,      ///< rank 0, once all ranks were told the same
  without_mpi  ///< rank 0, though MPI may not start here
};

struct Command {
  OptionSet options;
  /// Runs before MPI is initialised (children may be spawned, wrong requests end here), but for
  /// what runs on one of several ranks; an empty body means that the command has done its work, and
  /// `code` is its exit code.
  std::function<Body(const Parsed&, const Arguments&, ExitCode& code)> prepare;
  Runs runs = Runs::on_all;
  /// Of a workload: the same for a plan of the --ranks in the request, so many a node. Before MPI,
  /// too.
  std::function<Planner(const Parsed&, index_t ranks_per_node)> plan = {};
};

/// A command's options are built when it is called: most starts need those of one.
struct CommandRow {
  std::string_view name;
  Command (*make)();
};

struct Program {
  std::span<const CommandRow> commands;
  /// What `--help` without a command says.
  std::string (*help)(const std::vector<Command>& commands);
};

/// Does what the arguments ask for: understands them, starts MPI where the command or a launcher
/// wants it, has all ranks agree on what they were told, and runs the command. Returns the exit
/// code, after one message where something is wrong.
[[nodiscard]] int run_program(const Program& program, int argc, char** argv);

}  // namespace tessera::run
