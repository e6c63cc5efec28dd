#pragma once
// Program of sub-commands: parses the request and runs it on one or all ranks.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Resource needs of one point of a workload.
struct Need {
  index_t memory = 0;       ///< of any rank, bytes
  index_t least = 0;        ///< suffices, for a slower method; 0: there is none
  double seconds = -1;      ///< per repetition; -1 without measured ceilings
  double total = -1;        ///< of the command as typed: input, repetitions, check and files
  index_t repetitions = 1;  ///< including warm-ups
};

using Arguments = std::vector<std::string>;
/// Work of a command on all ranks, after MPI is initialised.
using Body = std::function<ExitCode(const mpi::Communicator&)>;

/// Computes the needs of every point of a request, on one rank.
using Planner = std::function<std::vector<Need>(const mpi::Communicator&)>;

/// Ranks that do a command's work if a launcher started several.
enum class RankScope {
  on_all,      ///< all ranks share it
  on_one,      ///< rank 0, after all ranks agreed on the request
  without_mpi  ///< rank 0, even if MPI cannot start here
};

struct Command {
  OptionSet options;
  /// Runs before MPI is initialised (children may be spawned; invalid requests end here), except
  /// for commands that run on one of several ranks. An empty body means that the command is done
  /// with exit code `code`.
  std::function<Body(const Parsed&, const Arguments&, ExitCode& code)> prepare;
  RankScope runs = RankScope::on_all;
  /// Workloads only: prepares the plan for the --ranks of the request, ranks_per_node per node.
  /// Runs before MPI is initialised, too.
  std::function<Planner(const Parsed&, index_t ranks_per_node)> plan = {};
};

/// Name and factory of a command; options are built on demand, as most starts need those of one.
struct CommandRow {
  std::string_view name;
  Command (*make)();
};

struct Program {
  std::span<const CommandRow> commands;
  /// Returns the text of `--help` without a command.
  std::string (*help)(const std::vector<Command>& commands);
};

/// Executes the arguments: parses them, starts MPI if the command or a launcher requires it, has
/// all ranks agree on the request, and runs the command. Returns the exit code, after one message
/// in case of an error.
[[nodiscard]] int run_program(const Program& program, int argc, char** argv);

}  // namespace tessera::inline v1::run
