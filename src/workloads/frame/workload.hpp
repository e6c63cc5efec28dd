#pragma once
// Interface of a workload to the frame. The frame knows no workload by name.

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

namespace tessera::inline v1::workloads {

using run::Need;

/// The arguments of planning a point of a workload.
template <class Problem, class Inputs>
struct AskedOf {
  const mpi::Communicator& comm;
  const run::Values& values;
  const Problem& problem;
  const Inputs& inputs;
};

/// The arguments of running it.
template <class Problem, class Inputs>
struct PointOf {
  const mpi::Communicator& comm;
  const run::Values& values;
  const Problem& problem;
  const Inputs& inputs;
  run::Session& session;
  [[nodiscard]] AskedOf<Problem, Inputs> asked() const { return {comm, values, problem, inputs}; }
};

/// How a point's data is held.
enum class Mode {
  in_memory,   ///< in memory of all ranks, perhaps in rounds
  out_of_core  ///< from file to file, within a rank's memory limit
};

/// Work of all ranks together besides the repetitions, in bytes.
struct Volumes {
  double touched = 0;    ///< memory written for the first time
  double generated = 0;  ///< random input
  double read = 0;       ///< input from files, decoded
  double decoded = 0;    ///< of those, compressed or in chunks
  bool reloads = false;  ///< every repetition but the first loads the input again
  double restored = 0;   ///< read and written before each repetition
  double hashed = 0;     ///< by the check
  double streamed = 0;   ///< read by the check without hashing
  double spilled = 0;    ///< written to temporary files and read again
  double written = 0;    ///< outputs
  double encoded = 0;    ///< of those, compressed
};

/// A resolved and planned point. The frame calls its functions on every rank.
class PlannedPoint {
 public:
  PlannedPoint() = default;
  PlannedPoint(const PlannedPoint&) = delete;
  PlannedPoint& operator=(const PlannedPoint&) = delete;
  virtual ~PlannedPoint() = default;

  [[nodiscard]] virtual Mode mode() const = 0;
  /// Returns whether it could be computed out of core if memory is short. Local.
  [[nodiscard]] virtual bool may_go_out_of_core() const { return false; }
  /// Returns the kernel of this rank; nullptr if it has no kernel. Local.
  [[nodiscard]] virtual const VariantInfo* kernel() const = 0;
  /// Returns the planned memory of this rank. Local.
  [[nodiscard]] virtual run::Held held() const = 0;
  /// Returns whether every rank's part fits its memory, if all ranks know so without communication.
  /// Local.
  [[nodiscard]] virtual bool known_to_fit() const { return false; }
  /// Returns the largest memory of any rank, bytes, for that number of ranks. Local.
  [[nodiscard]] virtual index_t most_memory(index_t ranks) const = 0;
  /// Returns the memory of the worst rank, and the time of the slowest. Local.
  [[nodiscard]] virtual Need need(const run::Ceilings& ceilings, index_t ranks_per_node) const = 0;
  /// Returns the work besides the repetitions. Local.
  [[nodiscard]] virtual Volumes volumes() const = 0;
  /// Returns the ranks that have no data. Local.
  [[nodiscard]] virtual index_t idle_ranks() const { return 0; }
  /// Prints the plan of every rank on rank 0. Collective.
  virtual void print(const run::Ceilings& ceilings, index_t ranks_per_node) const = 0;
  /// Runs the point and records it in the session. Returns whether the result is right. Collective.
  [[nodiscard]] virtual bool run(run::Session& session) const = 0;
};

/// The common base of planned points of a workload: the arguments of planning.
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

/// Resolves and plans a point of the request. The communicator and the values must outlive the
/// result. Collective.
using Resolve = std::function<std::unique_ptr<PlannedPoint>(
    const mpi::Communicator&, const run::Values&, const run::Ceilings&)>;

/// Returns a Resolve that makes Planned(comm, values, inputs, ceilings).
template <class Planned, class Inputs>
[[nodiscard]] Resolve resolve_by(std::shared_ptr<const Inputs> inputs) {
  return [inputs](const mpi::Communicator& comm, const run::Values& values,
                  const run::Ceilings& ceilings) {
    return std::make_unique<Planned>(comm, values, *inputs, ceilings);
  };
}

/// Actions of the laboratory's commands on a point; a workload's are made from its Resolve.
struct PointActions {
  std::function<void(const run::Values&, run::Session&)> plan;  ///< prints it
  std::function<bool(const run::Values&, run::Session&)>
      run;  ///< returns whether the result is right
};

/// An option that names an output of a point.
struct OutputOption {
  enum class Names {
    dataset,
    datasets,  ///< one per field
    table      ///< a dataset or a group of columns, which may be the root of a file
  };
  const char* option;
  Names names = Names::dataset;
};

/// What a point computed from file to file leaves, however it ends, for a resumed run.
enum class Leftovers {
  nothing,
  when_asked,  ///< finished parts of its output, with --resume
  always       ///< its runs
};

/// A result that is computed from files and not kept unless a request names a place for it.
struct Discarded {
  const char* result = nullptr;         ///< with its verb: "the product is"; none is kept anyway
  std::vector<const char*> other = {};  ///< options for which it is computed besides outputs
};

struct Workload {
  const run::OptionSet* options = nullptr;  ///< lives as long as the program
  std::vector<OutputOption> outputs = {};
  /// Returns what a point of the request leaves; empty function: nothing.
  std::function<Leftovers(const run::Parsed&)> leaves = {};
  /// Returns what the request is understood as where another one is likely, and how to write that.
  std::function<std::vector<std::string>(const run::Parsed&)> notes = {};
  Discarded discarded = {};
  bool auto_takes_gpus = false;  ///< --device auto uses a GPU if there is one
};

/// Returns whether the request sets the option, which the command may not have.
[[nodiscard]] bool names(const run::Parsed& parsed, const char* option);

/// An output that a request names.
struct NamedOutput {
  const OutputOption* output;       ///< of the workload
  std::vector<std::string> values;  ///< one per dataset
};
/// Returns the outputs of the workload that the request names.
[[nodiscard]] std::vector<NamedOutput> named_outputs(const Workload& workload,
                                                     const run::Parsed& parsed);

/// Returns a note for a request that computes from files and keeps no result; "" for others.
[[nodiscard]] std::string discarded_note(const Workload& workload, const run::Parsed& parsed);

/// Sets one repetition without warm-up for a request that wants an output rather than a
/// measurement: one point with an output, no results file, and neither number set by the user.
void compute_once(const Workload& workload, run::Parsed& parsed);

}  // namespace tessera::inline v1::workloads
