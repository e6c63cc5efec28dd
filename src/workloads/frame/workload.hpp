#pragma once
// What a workload tells the frame. The frame knows no workload by name.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/variant.hpp"
#include "mpi/communicator.hpp"
#include "run/ceilings.hpp"
#include "run/memory_plan.hpp"
#include "run/options.hpp"
#include "run/program.hpp"
#include "run/session.hpp"

namespace tessera::workloads {

using run::Need;

/// Everything that a point of a workload is planned with.
template <class Problem, class Inputs>
struct AskedOf {
  const mpi::Communicator& comm;
  const run::Values& values;
  const Problem& problem;
  const Inputs& inputs;
};

/// Everything that it is run with.
template <class Problem, class Inputs>
struct PointOf {
  const mpi::Communicator& comm;
  const run::Values& values;
  const Problem& problem;
  const Inputs& inputs;
  run::Session& session;
  [[nodiscard]] AskedOf<Problem, Inputs> asked() const { return {comm, values, problem, inputs}; }
};

/// How a point's data goes through memory.
enum class Mode {
  in_memory,   ///< of all ranks at once, perhaps in rounds
  out_of_core  ///< from file to file, within what a rank may hold
};

/// A point with everything looked up, planned once. The frame calls these on every rank.
class PlannedPoint {
 public:
  PlannedPoint() = default;
  PlannedPoint(const PlannedPoint&) = delete;
  PlannedPoint& operator=(const PlannedPoint&) = delete;
  virtual ~PlannedPoint() = default;

  [[nodiscard]] virtual Mode mode() const = 0;
  /// Whether it could go out of core, where memory is short. Local.
  [[nodiscard]] virtual bool may_go_out_of_core() const { return false; }
  /// That this rank runs; nullptr where none does. Local.
  [[nodiscard]] virtual const VariantInfo* kernel() const = 0;
  /// What this rank will hold in memory. Local.
  [[nodiscard]] virtual run::Held held() const = 0;
  /// Whether every rank may hold its part, as all ranks know: nothing has to be asked. Local.
  [[nodiscard]] virtual bool known_to_fit() const { return false; }
  /// The largest memory of any rank, bytes, if there were so many. Local.
  [[nodiscard]] virtual index_t most_memory(index_t ranks) const = 0;
  /// What the worst rank will hold, and the slowest take. Local.
  [[nodiscard]] virtual Need need(const run::Ceilings& ceilings, index_t ranks_per_node) const = 0;
  /// Prints what every rank will do, on rank 0. Collective.
  virtual void print(const run::Ceilings& ceilings, index_t ranks_per_node) const = 0;
  /// Runs it and records it in the session; whether the result is right. Collective.
  [[nodiscard]] virtual bool run(run::Session& session) const = 0;
};

/// What the planned points of a workload have in common: everything that they are planned with.
template <class Problem, class Inputs>
class PlannedOf : public PlannedPoint {
 protected:
  PlannedOf(const mpi::Communicator& comm, const run::Values& values, const Inputs& inputs,
            Problem problem)
      : comm_(comm), values_(values), inputs_(inputs), problem_(std::move(problem)) {}
  [[nodiscard]] AskedOf<Problem, Inputs> asked() const {
    return {comm_, values_, problem_, inputs_};
  }
  [[nodiscard]] PointOf<Problem, Inputs> in(run::Session& session) const {
    return {comm_, values_, problem_, inputs_, session};
  }

  const mpi::Communicator& comm_;
  const run::Values& values_;
  const Inputs& inputs_;
  Problem problem_;
};

/// Looks up and plans a point of the request. Collective; the communicator and the values outlive
/// the result.
using Resolve = std::function<std::unique_ptr<PlannedPoint>(
    const mpi::Communicator&, const run::Values&, const run::Ceilings&)>;

/// A Resolve that makes Planned(comm, values, inputs, ceilings).
template <class Planned, class Inputs>
[[nodiscard]] Resolve resolve_by(std::shared_ptr<const Inputs> inputs) {
  return [inputs](const mpi::Communicator& comm, const run::Values& values,
                  const run::Ceilings& ceilings) {
    return std::make_unique<Planned>(comm, values, *inputs, ceilings);
  };
}

/// What the commands of the laboratory do with a point; a workload's are made of its Resolve.
struct PointActions {
  std::function<void(const run::Values&, run::Session&)> plan;  ///< prints it
  std::function<bool(const run::Values&, run::Session&)> run;   ///< whether the result is right
};

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
enum class Leftovers {
  nothing,
  when_asked,  ///< finished parts of its output, with --resume
  always       ///< its runs
};

struct Workload {
  const run::OptionSet* options = nullptr;  ///< lives as long as the program
  std::vector<OutputOption> outputs = {};
  /// What a point of the request leaves; empty: nothing.
  std::function<Leftovers(const run::Parsed&)> leaves = {};
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
[[nodiscard]] std::vector<NamedOutput> named_outputs(const Workload& workload,
                                                     const run::Parsed& parsed);

}  // namespace tessera::workloads
