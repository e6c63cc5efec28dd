// Marches the fields on the host or on GPUs through all steps, with stops for checks, snapshots,
// probes and checkpoints, and writes the result.

#include "base/note.hpp"
#include "base/progress.hpp"
#include "workloads/stencil/problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include <numeric>

#include <array>

#include "dist/stencil/halo_window.hpp"
#include "dist/stencil/on_devices.hpp"
#include "io/grid.hpp"
#include "io/schema.hpp"
#include "mpi/agreement.hpp"
#include "run/file_traffic.hpp"
#include "workloads/stencil/aside.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

using dist::stencil::Traffic;

/// Returns the checksum of every field.
template <class T>
std::string hashes_of(const Point& point, const DistributedField<T>& u) {
  std::vector<std::string> hashes;
  for (index_t field = 0; field < u.fields(); ++field) {
    const auto mine = u.box().empty() ? 0
                                      : tessera::stencil::field_hash<T>(
                                            u.now(field), u.box().low, u.scheme().global,
                                            point.problem.method.threads);
    hashes.push_back(fmt::format("{:016x}", point.comm.sum(std::uint64_t{mine})));
  }
  return fmt::format("{}", fmt::join(hashes, ","));
}

/// Returns counts by simulation, without hardware counters. `auto` blocks time as cache_oblivious
/// does.
run::Counted simulated_counts(const Problem& problem) {
  if (problem.scheme().terms.any())
    return run::not_simulated("coefficients, sources and masks are not traced");
  if (problem.element == Element::f16) return run::not_simulated("fields in f16 are not traced");
  if (problem.dims() == 3) return run::not_simulated("three dimensions are not traced");
  if (problem.shape.fields > 1) return run::not_simulated("several fields are not traced");
  const std::vector<index_t> extents = problem.extents();
  return run::simulated({.workload = "stencil",
                         .kernel = problem.kernel == "auto" ? "cache_oblivious" : problem.kernel,
                         .element_bytes = static_cast<index_t>(bytes(problem.element)),
                         .m = problem.dims() == 1 ? 1 : extents.front(),
                         .n = extents.back(),
                         .column_width = problem.method.tuning.column,
                         .steps = problem.shape.steps,
                         .stencil = problem.scheme().stencil.name});
}

/// Describes the results; halos: their transport if the fields are on the host.
void describe(const Point& point, const std::string& hashes, index_t messages,
              const std::string& halos, run::Measured& measured) {
  const Problem& problem = point.problem;
  measured.simulated_counts = [&problem] { return simulated_counts(problem); };
  measured.columns = {
      {"stencil", problem.scheme().stencil.name},
      {"shape", fmt::format("{}", fmt::join(problem.extents(), "x"))},
      {"type", std::string(name(problem.element))},
      {"steps", problem.shape.steps},
      {"kernel", problem.kernel},
      {"grid", layout::parts_text(problem.plan.grid.parts, problem.dims())},
      {"halo_steps", problem.plan.halo_steps},
      {"messages", point.comm.sum(messages)},
      {"exchange", problem.gpus == nullptr
                       ? halos
                       : fmt::format("gpu_{}", mpi::name(problem.gpus->transport()))},
      {"slabs", problem.slabs ? problem.slabs->slabs : 0},
      {"slab_steps", problem.slabs ? problem.slabs->longest() : 0},
      {"hash", hashes}};
  if (!problem.slabs) measured.unused = {"slabs", "slab_steps"};
  if (point.comm.size() == 1) measured.unused.insert("messages");
  if (point.comm.size() == 1 && problem.gpus == nullptr) measured.unused.insert("exchange");
  measured.work = problem.updates();
  measured.rate_units = "Gpoints/s";
  measured.ceiling = "copy";
  const index_t levels = problem.scheme().stencil.two_levels() ? 3 : 2;
  const auto fields = static_cast<double>(levels + problem.scheme().terms.count());
  measured.per_ceiling = fields * static_cast<double>(bytes(problem.element));
}

/// The numbers of the datasets of a point's outputs; one per field.
struct Datasets {
  std::vector<std::size_t> out, snapshots;
};

std::vector<std::size_t> add_output(const Point& point, const char* option,
                                    const std::vector<index_t>& time, run::Outputs& outputs) {
  const auto& [values, problem, inputs] = std::tie(point.values, point.problem, point.inputs);
  std::vector<std::size_t> datasets;
  if (!values.has(option)) return datasets;
  std::vector<std::string> dimensions{"z", "y", "x"};
  dimensions.erase(dimensions.begin(), dimensions.end() - problem.dims());
  auto shape = problem.extents();
  if (!time.empty()) {
    shape.insert(shape.begin(), static_cast<index_t>(time.size()));
    dimensions.insert(dimensions.begin(), "time");
  }
  for (const std::string& name : io::split_names(values.text(option))) {
    datasets.push_back(
        outputs.add(io::parse_dataset_name(name, option), shape, problem.element, dimensions));
    outputs.spec(datasets.back()).time = time;
    outputs.spec(datasets.back()).image = true;
    if (const std::size_t field = datasets.size() - 1; field < inputs.in.size()) {
      const io::DatasetName& input = inputs.in[field]->name();
      outputs.describe_as(datasets.back(), input);
      std::vector<int> axes(shape.size());
      std::iota(axes.begin(), axes.end(), time.empty() ? 0 : -1);
      outputs.place_as(datasets.back(), {input, std::move(axes)});
    }
  }
  return datasets;
}

/// The fields on their devices; host memory holds the parts that were copied back.
template <class T>
class OnGpus {
 public:
  OnGpus(const mpi::DeviceExchange& exchange, const DistributedField<T>& u,
         const dist::stencil::Method& method)
      : comm_(exchange.comm()), there_(exchange, u, method) {}

  void put(const DistributedField<T>& u, mpi::Phases& phases) {
    mpi::together(comm_, "to device", [&] {
      const mpi::PhaseScope scope(phases, "to device");
      there_.put(u);
    });
    brought_ = true;
  }
  Traffic advance(index_t steps, mpi::Phases& phases) {
    brought_ = brought_ && steps == 0;
    return there_.advance(steps, phases);
  }
  void bring(DistributedField<T>& u, const Box3& part, mpi::Phases& phases) {
    if (brought_) return;
    const mpi::PhaseScope scope(phases, "from device");
    there_.get(u, part);
    brought_ = part == Box3{{}, u.box().size()};
  }

 private:
  mpi::Communicator comm_;
  dist::stencil::DeviceStencil<T> there_;
  bool brought_ = true;
};

template <class T>
class StencilRun {
 public:
  explicit StencilRun(const Point& point) : point_(point) {
    // The contents of the field and its terms identify checkpoints and snapshots.
    const bool named = begins_once() || point.problem.snapshots;
    if (named) make_field();
    begin_ = resume(point, u_, start_);
    if (point.problem.snapshots)
      frames_ = plan_frames(point, problem_of(point, u_) + start_, begin_.step);
    datasets_.snapshots = add_output(point, "snapshots", frames_.steps, outputs_);
    datasets_.out = add_output(point, "out", {}, outputs_);
    outputs_.open(point.comm, point.values, frames_.written >= 0 ? frames_.identity : "");
    if (!named) make_field();
  }

  bool run() {
    const auto& values = point_.values;
    const index_t steps = point_.problem.shape.steps;
    index_t left = values.integer("warmups") + values.integer("repetitions");
    Stops<T> stops;
    Traffic traffic;
    const auto prepare = [&] {
      if (!fresh_ && !begins_once()) begin();
      fresh_ = false;
      if (there_) there_->put(u_, once_);
    };
    run::Measured measured =
        run::measure(point_.comm, values, prepare, [&](mpi::Phases& phases, run::Clock& clock) {
          if (--left == 0) clock.aside([&] { add_stops(stops); });
          const Progress progress("steps", static_cast<double>(steps - begin_.step),
                                  Progress::Counts::steps);
          Aside aside(clock, stops.all());
          const std::array<Stop*, 1> observers{&aside};
          traffic = march(begin_.step, steps, observers, [&](index_t some) {
            return there_ ? there_->advance(some, phases)
                          : advance(point_.comm, u_, some, point_.problem.method, phases);
          });
          if (stops.snapshots) clock.aside([&] { stops.snapshots->finish(); });
        });
    u_.bring();
    measured.once = once_;
    if (stops.snapshots)
      run::note_traffic(point_.comm, stops.snapshots->take_traffic(), -1, measured);
    if (stops.check) {
      const mpi::PhaseScope scope(measured.once, "verify");
      measured.verdict = stops.check->verdict();
    }
    if (stops.series) measured.tables.push_back({io::schema::series, stops.series->rows()});
    describe(point_, hashes_of(point_, u_), traffic.messages, u_.window() ? "shared" : "messages",
             measured);
    measured.work *=
        steps > 0 ? static_cast<double>(steps - begin_.step) / static_cast<double>(steps) : 0;
    const bool right =
        outputs_.conclude(point_.comm, values, point_.session, measured, [&] { write(); });
    note_nan();
    if (right) {
      describe_images(point_, "snapshots", specs_of(datasets_.snapshots), true);
      describe_images(point_, "out", specs_of(datasets_.out), values.flag("xdmf"));
    }
    return right;
  }

 private:
  [[nodiscard]] std::vector<io::DatasetSpec> specs_of(const std::vector<std::size_t>& datasets) {
    std::vector<io::DatasetSpec> specs;
    for (const std::size_t dataset : datasets) specs.push_back(outputs_.spec(dataset));
    return specs;
  }

  /// Makes the field before the first step: on the GPUs, or on the host, in a window if neighbours
  /// of a node share halos.
  void make_field() {
    const Problem& problem = point_.problem;
    const int rank = point_.comm.rank();
    mpi::together(point_.comm, "read", [&] {
      {
        const mpi::AccountScope account("allocate");
        u_ = DistributedField<T>(problem.scheme(), problem.plan.grid, rank, problem.plan.halo_steps,
                                 problem.shape.fields);
      }
      const mpi::PhaseScope scope(once_, "read");
      const Progress progress("read", bytes_to_read(), Progress::Counts::bytes_read);
      u_.use(load_terms<T>(problem, point_.inputs, rank));
      read_field();
      if (!point_.inputs.in.empty()) nan_ = count_nan();
    });
    fresh_ = true;
    if (!point_.problem.checkpoint.empty()) start_ = start_of(point_, u_);
    if (problem.gpus != nullptr) {
      there_ = std::make_unique<OnGpus<T>>(*problem.gpus, u_, problem.method);
      u_.keep_elsewhere([this](const Box3& part) { there_->bring(u_, part, once_); });
      return;
    }
    if (problem.shares_halos)
      u_.use(std::make_shared<dist::stencil::HaloWindow<T>>(point_.comm, u_));
  }

  /// Returns whether the run has no repetitions, as with checkpoints.
  [[nodiscard]] bool begins_once() const {
    return point_.problem.resumes() || !point_.problem.checkpoint.empty();
  }

  /// Reads the field before the first step. Local.
  void read_field() {
    load(point_.problem, point_.inputs, u_);
    load_given(point_.problem, point_.inputs, u_);
  }
  /// Returns the bytes of this rank's fields if they come from files.
  [[nodiscard]] double bytes_to_read() const {
    const auto fields = static_cast<double>(point_.inputs.in.size());
    return fields * static_cast<double>(u_.box().volume() * index_t{sizeof(T)});
  }
  /// Returns the cells of this rank that are NaN.
  [[nodiscard]] index_t count_nan() const {
    index_t found = 0;
    for (index_t field = 0; field < u_.fields() && !u_.box().empty(); ++field) {
      const auto view = u_.now(field);
      for (index_t z = 0; z < view.extent[0]; ++z) {
        for (index_t y = 0; y < view.extent[1]; ++y) {
          const T* const row = view.row(z, y);
          found += std::count_if(row, row + view.extent[2], [](T value) {
            return std::isnan(static_cast<Arithmetic<T>>(value));
          });
        }
      }
    }
    return found;
  }
  /// Reports cells that were NaN when they were read. Collective.
  void note_nan() const {
    if (point_.inputs.in.empty()) return;
    const index_t found = point_.comm.sum(nan_);
    if (found == 0 || !point_.comm.is_root()) return;
    print_note(fmt::format(
        "note: {} of {} cells of the input are NaN, which spreads with every step; set their "
        "attribute _FillValue to NaN and write --fill mask to leave such cells out",
        found, u_.scheme().global.volume() * u_.fields()));
  }
  /// Resets the field for the next repetition.
  void begin() {
    mpi::together(point_.comm, "read", [&] { read_field(); });
  }

  /// Adds the stops; their times are reported separately from the repetitions.
  void add_stops(Stops<T>& stops) {
    const Problem& problem = point_.problem;
    mpi::Phases& phases = once_;
    if (problem.verify)
      stops.check.emplace(point_, u_, begin_.step, point_.problem.shape.steps, phases);
    if (!datasets_.snapshots.empty())
      stops.snapshots.emplace(point_, u_, outputs_, datasets_.snapshots, frames_, phases);
    if (!problem.probes.empty() || problem.norms) {
      stops.series.emplace(point_, u_, phases);
      if (!begin_.checkpoint.empty()) stops.series->resume_from(begin_.checkpoint, begin_.step);
    }
    const auto leave = [&stops](index_t step) {
      if (stops.snapshots) stops.snapshots->leave(step);
    };
    if (!problem.checkpoint.empty())
      stops.checkpoints.emplace(point_, u_, begin_.step, start_,
                                stops.series ? &*stops.series : nullptr, leave, phases);
  }

  void write() {
    for (index_t i = 0; i < u_.fields() && !datasets_.out.empty(); ++i) {
      const auto now = u_.now(i);
      for (index_t z = 0; z < u_.box().size()[0]; ++z) {
        for (index_t y = 0; y < u_.box().size()[1]; ++y)
          leave_out(u_.terms(), z, y, u_.box().size()[2], now.row(z, y));
      }
    }
    for (std::size_t i = 0; i < datasets_.out.size() && !u_.box().empty(); ++i) {
      io::write_grid<T>(
          u_.box(), std::as_const(u_).now(static_cast<index_t>(i)),
          [&](auto slab, auto bytes) { outputs_.write_slab(datasets_.out[i], slab, bytes); });
    }
  }

  const Point& point_;
  DistributedField<T> u_;
  std::unique_ptr<OnGpus<T>> there_;
  Begin begin_;
  std::string start_;  ///< identity of the field before the first step, for checkpoints
  run::Outputs outputs_;
  FramePlan frames_;
  Datasets datasets_;
  mpi::Phases once_;
  bool fresh_ = false;  ///< the field is the one before the first step
  index_t nan_ = 0;     ///< cells of this rank that were NaN when they were read
};

}  // namespace

bool run_steps(const Point& point) {
  return dispatch_kept(point.problem.element,
                       [&]<class T>(Type<T>) { return StencilRun<T>(point).run(); });
}

}  // namespace tessera::inline v1::workloads::stencil
