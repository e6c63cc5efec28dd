#pragma once
// What a workload tells the frame. The frame knows no workload by name.

#include <functional>
#include <string>
#include <vector>

#include "mpi/communicator.hpp"
#include "run/ceilings.hpp"
#include "run/options.hpp"
#include "run/session.hpp"

namespace tessera::workloads {

/// What a point of a workload takes at most.
struct Need {
  index_t memory = 0;       ///< of any rank, bytes
  double seconds = -1;      ///< of one repetition; -1 where the machine was never measured
  index_t repetitions = 1;  ///< warm-ups among them
};

/// Everything that a point of a workload is run with.
template <class Request, class Inputs>
struct PointOf {
  const mpi::Communicator& comm;
  const run::Values& values;
  const Request& request;
  const Inputs& inputs;
  run::Session& session;
};

/// What a workload can do with a point; all are called on every rank.
struct PointActions {
  std::function<void(const run::Values&, run::Session&)> plan;  ///< prints it
  std::function<bool(const run::Values&, run::Session&)> run;   ///< whether the result is right
  /// What the --ranks of the point would take, so many on a node.
  std::function<Need(const run::Values&, const run::Ceilings&, index_t ranks_per_node)> need = {};
};

/// Makes them on all ranks once MPI is there.
using Actions = std::function<PointActions(const mpi::Communicator&)>;

/// An option that names what a point writes.
struct OutputOption {
  enum class Names {
    dataset,
    datasets,  ///< one a field
    table      ///< a dataset or a group of columns, which may be the root of a file
  };
  const char* option;
  Names names = Names::dataset;
};

/// What a point that goes from file to file leaves, however it ends, for one that goes on.
enum class Leaves {
  nothing,
  when_asked,  ///< finished parts of its output, with --resume
  always       ///< its runs
};

struct Workload {
  const run::OptionSet* options = nullptr;  ///< lives as long as the program
  std::vector<OutputOption> outputs = {};
  /// What a point of the request leaves; empty: nothing.
  std::function<Leaves(const run::Parsed&)> leaves = {};
  bool auto_takes_gpus = false;  ///< --device auto takes a GPU where there is one
};

/// Whether the request names a value of the option, one that the command may not have.
[[nodiscard]] bool names(const run::Parsed& parsed, const char* option);

/// An output that a request names.
struct NamedOutput {
  const OutputOption* output;       ///< of the workload
  std::vector<std::string> values;  ///< one a dataset
};
/// The outputs of the workload that the request names.
[[nodiscard]] std::vector<NamedOutput> named_outputs(const Workload& workload, const run::Parsed& parsed);

}  // namespace tessera::workloads
