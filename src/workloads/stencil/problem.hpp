#pragma once
// A resolved point of a stencil, and the declarations shared by the files of the workload.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/element.hpp"
#include "dist/stencil/advance.hpp"
#include "dist/stencil/plan.hpp"
#include "io/output_file.hpp"
#include "run/ceilings.hpp"
#include "run/gpu_exchange.hpp"
#include "run/inputs.hpp"
#include "run/memory_plan.hpp"
#include "run/options.hpp"
#include "run/session.hpp"
#include "workloads/frame/workload.hpp"

namespace tessera::inline v1::workloads::stencil {

/// The terms that files hold; walls are made of cells without a value.
inline constexpr std::array<tessera::stencil::Term, 3> terms_of_files{
    tessera::stencil::Term::coefficients, tessera::stencil::Term::source,
    tessera::stencil::Term::mask};

/// The cells of the first field outside the domain with --fill mask, once counted.
struct Domain {
  bool known = false;
  index_t outside = 0;  ///< cells without a value
};

/// Input files.
struct Inputs {
  std::vector<std::unique_ptr<run::Input>> in, past;  ///< one per field
  std::vector<std::unique_ptr<run::Input>> given;     ///< one for all fields, or one per field
  std::unique_ptr<run::Input> weights;
  std::array<std::unique_ptr<run::Input>, terms_of_files.size()> terms;  ///< by Term
  std::unique_ptr<Domain> domain = std::make_unique<Domain>();
  std::unique_ptr<run::GpuExchanges> gpus =
      std::make_unique<run::GpuExchanges>();  ///< cached as they are found
};

/// The interval between two checkpoints: "600s" or "1000" steps.
struct Interval {
  double seconds = 0;
  index_t steps = 0;  ///< 0: by seconds
};

/// One resolved point of the sweep over options.
struct Problem {
  dist::stencil::PlanRequest shape;
  dist::stencil::Plan plan;
  dist::stencil::Method method;
  Element element = Element::f64;
  std::string kernel;
  const mpi::DeviceExchange* gpus = nullptr;  ///< transport of halos on GPUs, if they stay
  std::optional<tessera::stencil::SlabPlan>
      slabs;                  ///< of fields that are copied to GPUs between two exchanges
  bool shares_halos = false;  ///< within a node, through shared memory
  run::Allowance allowance;
  std::vector<dist::stencil::Forecast> forecasts;  ///< by rank
  bool fits = false;  ///< every rank's part fits its memory, the same on all ranks
  std::string init;
  std::vector<std::string> fields{"u"};  ///< names of the fields
  index_t every = 0;                     ///< steps between two snapshots
  std::vector<Index3> probes;
  bool norms = false;      ///< of every field, with the probes
  index_t look_every = 1;  ///< steps between two records of those
  bool snapshots = false;  ///< a copy of the field is held while it is written
  bool files = false;      ///< fields or terms are read from or written to files
  index_t outside = 0;     ///< cells outside the domain
  std::uint64_t seed = 1;
  bool verify = true;
  std::string checkpoint;  ///< its file; empty: none
  Interval checkpoint_every;
  std::string resume;  ///< "auto", or the file of a checkpoint
  /// Returns whether the run may resume from a checkpoint.
  [[nodiscard]] bool resumes() const {
    return !resume.empty() && (resume != "auto" || !checkpoint.empty());
  }

  [[nodiscard]] const dist::stencil::Scheme& scheme() const { return shape.scheme; }
  [[nodiscard]] int dims() const { return scheme().stencil.dims; }
  /// Returns "v:", the prefix of names about one of several fields.
  [[nodiscard]] std::string prefix(index_t field) const {
    return shape.fields == 1 ? "" : fields[static_cast<std::size_t>(field)] + ":";
  }
  [[nodiscard]] std::vector<index_t> extents() const;
  [[nodiscard]] double updates() const;  ///< points times steps, of all fields
};

/// Parses "clamp", "x=periodic,y-=constant:1.5,y+=mirror"; unnamed sides are clamped. Throws
/// Error(usage).
[[nodiscard]] dist::stencil::Sides parse_sides(const std::string& text, int dims);
/// Weights written as "0 1 0; 1 -4 1; 0 1 0" (rows end with ;, planes with /), or the values of a
/// dataset.
struct Weights {
  std::vector<index_t> shape;  ///< one extent per dimension
  std::vector<double> values;
};
[[nodiscard]] Weights parse_weights(const std::string& text);
[[nodiscard]] Weights read_weights(const io::DatasetName& name, const io::DatasetInfo& info);

/// Parses "10,20; 3,4": points (x, y, z) of the field. Throws Error(usage).
[[nodiscard]] std::vector<Index3> parse_probes(const std::string& text,
                                               const dist::stencil::Scheme& scheme);

[[nodiscard]] Interval parse_interval(const std::string& text);

/// Resolves a point: shape and element type from the input files, if any, otherwise from the
/// options; then the plan. Collective.
[[nodiscard]] Problem resolve(const mpi::Communicator& comm, const run::Values& point,
                              const Inputs& inputs, const run::Ceilings& ceilings);

/// Chooses the device sweep if requested. Fields on the host are copied to the device and back
/// between two exchanges. Cuts boxes by the ranks' speeds if they differ. Collective.
void choose_place(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs,
                  Problem& problem);
/// Returns the throughput of this rank's kernel in points times steps per second, without
/// communication, in stretches of the plan: for shares by speed.
[[nodiscard]] double speed_of(const Problem& problem);

/// Forecasts the memory, messages and arithmetic of all ranks by the plan.
void forecast_all(Problem& problem);
/// Returns the planned memory of a rank, in total.
[[nodiscard]] index_t memory_of(const Problem& problem, index_t rank);
/// Returns the largest memory of any rank for that number of ranks.
[[nodiscard]] index_t most_memory(const Problem& problem, index_t ranks);
/// Prints every rank's memory, messages and arithmetic, and the predicted time on the measured
/// machine.
void print_plan(const Problem& problem);
/// Returns the memory of the worst rank, and the time of the slowest.
[[nodiscard]] Need need_of(const Problem& problem);

using Point = PointOf<Problem, Inputs>;
using Asked = AskedOf<Problem, Inputs>;

/// Returns the work of all ranks besides the steps.
[[nodiscard]] Volumes volumes_of(const Asked& asked);

/// Runs a point. Returns whether the result is right. Collective.
[[nodiscard]] bool run_steps(const Point& point);

/// Writes XDMF descriptions of an option's outputs, one a field, next to their files if requested;
/// reports what visualisation tools would not find. Collective.
void describe_images(const Point& point, const char* option,
                     const std::vector<io::DatasetSpec>& specs, bool xdmf);

/// Loads the initial field of this rank: reads it or generates it from the global position. Local.
template <class T>
void load(const Problem& problem, const Inputs& inputs, dist::stencil::DistributedField<T>& u);
/// Loads the values beyond given sides. Local.
template <class T>
void load_given(const Problem& problem, const Inputs& inputs,
                dist::stencil::DistributedField<T>& u);
/// Returns the terms of this rank with their ghost layers; nullptr if there are none. Local.
template <class T>
[[nodiscard]] std::shared_ptr<const dist::stencil::TermFields<T>> load_terms(const Problem& problem,
                                                                             const Inputs& inputs,
                                                                             int rank);
/// Adds walls to the problem for the cells of the first field that --fill mask excludes. Every
/// other input must have values in the domain, and further fields no others. Throws
/// AgreedError(bad_data). Collective.
void find_domain(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs,
                 Problem& problem);
/// Loads the term of those walls, with its ghost layers. Local.
template <class T>
void load_walls(const Problem& problem, const Inputs& inputs, dist::stencil::TermFields<T>& fields);
/// Writes NaN into a row of values from (z, y, 0) on for points outside the domain.
template <class T>
void leave_out(const tessera::stencil::Terms<T>& terms, index_t z, index_t y, index_t n, T* row);
/// Returns names and hashes of the inputs of a step except the field: the terms and the values
/// beyond given sides. Collective.
template <class T>
[[nodiscard]] std::string identity_of(const Point& point,
                                      const dist::stencil::DistributedField<T>& u);

}  // namespace tessera::inline v1::workloads::stencil
