#pragma once
// A point of a stencil with everything looked up, and what the files of the workload share.

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

namespace tessera::workloads::stencil {

/// The terms that files hold; walls are made of cells without a value.
inline constexpr std::array<tessera::stencil::Term, 3> terms_of_files{
    tessera::stencil::Term::coefficients, tessera::stencil::Term::source,
    tessera::stencil::Term::mask};

/// What --fill mask leaves of the first field, once that was looked at.
struct Domain {
  bool known = false;
  index_t outside = 0;  ///< cells without a value
};

/// The inputs that files hold.
struct Inputs {
  std::vector<std::unique_ptr<run::Input>> in, past;  ///< a field each
  std::vector<std::unique_ptr<run::Input>> given;     ///< one for all fields, or a field each
  std::unique_ptr<run::Input> weights;
  std::array<std::unique_ptr<run::Input>, terms_of_files.size()> terms;  ///< by Term
  std::unique_ptr<Domain> domain = std::make_unique<Domain>();
  std::unique_ptr<run::GpuExchanges> gpus =
      std::make_unique<run::GpuExchanges>();  ///< as they are found out
};

/// Between two checkpoints: "600s" or "1000" steps.
struct Interval {
  double seconds = 0;
  index_t steps = 0;  ///< 0: by seconds
};

/// One point of the sweep with everything looked up.
struct Problem {
  dist::stencil::PlanRequest shape;
  dist::stencil::Plan plan;
  dist::stencil::Method method;
  Element element = Element::f64;
  std::string kernel;
  const mpi::DeviceExchange* gpus = nullptr;  ///< the fields stay there, and their halos travel so
  std::optional<tessera::stencil::SlabPlan> slabs;  ///< or they come there between two exchanges
  bool shares_halos = false;  ///< within a node, through memory that its ranks share
  run::Allowance allowance;
  std::vector<dist::stencil::Forecast> forecasts;  ///< by rank
  bool fits = false;  ///< every rank may hold its part, as all ranks know
  std::string init;
  std::vector<std::string> fields{"u"};  ///< their names
  index_t every = 0;                     ///< steps between two snapshots
  std::vector<Index3> probes;
  bool norms = false;      ///< of every field, with the probes
  index_t look_every = 1;  ///< steps between two of those
  bool snapshots = false;  ///< a copy of the field is held while it is written
  bool files = false;      ///< fields or terms come from files, or go there
  index_t outside = 0;     ///< cells that are no part of the domain
  std::uint64_t seed = 1;
  bool verify = true;
  std::string checkpoint;  ///< its file; empty: none
  Interval checkpoint_every;
  std::string resume;  ///< "auto", or the file of a checkpoint
  /// Whether there may be a checkpoint to go on from.
  [[nodiscard]] bool resumes() const {
    return !resume.empty() && (resume != "auto" || !checkpoint.empty());
  }

  [[nodiscard]] const dist::stencil::Scheme& scheme() const { return shape.scheme; }
  [[nodiscard]] int dims() const { return scheme().stencil.dims; }
  /// "v:" in front of what is said of one of several fields.
  [[nodiscard]] std::string prefix(index_t field) const {
    return shape.fields == 1 ? "" : fields[static_cast<std::size_t>(field)] + ":";
  }
  [[nodiscard]] std::vector<index_t> extents() const;
  [[nodiscard]] double updates() const;  ///< points times steps, of all fields
};

/// "clamp", "x=periodic,y-=constant:1.5,y+=mirror"; sides not named are clamped. Throws
/// Error(usage).
[[nodiscard]] dist::stencil::Sides parse_sides(const std::string& text, int dims);
/// Weights written as "0 1 0; 1 -4 1; 0 1 0" (rows end with ;, planes with /), or the values of a
/// dataset.
struct Weights {
  std::vector<index_t> shape;  ///< as many as dimensions
  std::vector<double> values;
};
[[nodiscard]] Weights parse_weights(const std::string& text);
[[nodiscard]] Weights read_weights(const io::DatasetName& name, const io::DatasetInfo& info);

/// "10,20; 3,4": points (x, y, z) of the field. Throws Error(usage).
[[nodiscard]] std::vector<Index3> parse_probes(const std::string& text,
                                               const dist::stencil::Scheme& scheme);

[[nodiscard]] Interval parse_interval(const std::string& text);

/// Collective: shape and element type from the files where they are given, else from the options;
/// then the plan.
[[nodiscard]] Problem resolve(const mpi::Communicator& comm, const run::Values& point,
                              const Inputs& inputs, const run::Ceilings& ceilings);

/// The device sweeps where it is asked to. Where fields stay on the host they go there and back
/// between two exchanges. Boxes go by the ranks' speed where those differ. Collective.
void choose_place(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs,
                  Problem& problem);
/// Points times steps a second that this rank's kernel does on its own, between two exchanges as
/// far apart as the plan's: for shares by speed.
[[nodiscard]] double speed_of(const Problem& problem);

/// Forecasts what the ranks will hold, send and compute by the plan.
void forecast_all(Problem& problem);
/// What a rank plans to hold, of everything.
[[nodiscard]] index_t memory_of(const Problem& problem, index_t rank);
/// The largest memory of any rank if there were so many.
[[nodiscard]] index_t most_memory(const Problem& problem, index_t ranks);
/// Prints what every rank will hold, send and compute, and how long that should last on the
/// measured machine.
void print_plan(const Problem& problem);
/// What the worst rank will hold, and the slowest take.
[[nodiscard]] Need need_of(const Problem& problem);

using Point = PointOf<Problem, Inputs>;

/// Whether the result is right. Collective.
[[nodiscard]] bool run_steps(const Point& point);

/// Describes the outputs of an option, one a field, in XDMF files beside theirs where that is asked
/// for; says what readers of pictures do not find. Collective.
void describe_images(const Point& point, const char* option,
                     const std::vector<io::DatasetSpec>& specs, bool xdmf);

/// The initial field of this rank, read or generated from the global position. Local.
template <class T>
void load(const Problem& problem, const Inputs& inputs, dist::stencil::DistributedField<T>& u);
/// What lies beyond given sides. Local.
template <class T>
void load_given(const Problem& problem, const Inputs& inputs,
                dist::stencil::DistributedField<T>& u);
/// The terms of this rank with their ghost layers; nullptr where there are none. Local.
template <class T>
[[nodiscard]] std::shared_ptr<const dist::stencil::TermFields<T>> load_terms(const Problem& problem,
                                                                             const Inputs& inputs,
                                                                             int rank);
/// Gives the problem walls where --fill mask leaves cells of the first field out. Every other input
/// has to have values in the domain, and further fields nowhere else. Collective; throws
/// AgreedError(bad_data).
void find_domain(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs,
                 Problem& problem);
/// The term of those walls, with its ghost layers. Local.
template <class T>
void load_walls(const Problem& problem, const Inputs& inputs, dist::stencil::TermFields<T>& fields);
/// Writes NaN into a row of values from (z, y, 0) on where a point is no cell of the domain.
template <class T>
void leave_out(const tessera::stencil::Terms<T>& terms, index_t z, index_t y, index_t n, T* row);
/// Names and hashes of what a step reads beside the field: the terms and what lies beyond given
/// sides. Collective.
template <class T>
[[nodiscard]] std::string identity_of(const Point& point,
                                      const dist::stencil::DistributedField<T>& u);

}  // namespace tessera::workloads::stencil
