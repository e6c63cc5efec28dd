#include "stencil.hpp"

#include <fmt/format.h>

#include <optional>

#include "command.hpp"
#include "io/grid.hpp"
#include "io/image.hpp"
#include "io/raw_file.hpp"
#include "io/schema.hpp"
#include "mpi/agreement.hpp"
#include "points.hpp"
#include "run/memory_plan.hpp"
#include "stencil_stops.hpp"

namespace tessera::apps {
namespace stencil {
namespace {

using dist::stencil::Traffic;

template <class T>
std::uint64_t hash_of(const Point& point, const DistributedField<T>& u) {
  const auto mine = u.box().empty()
                        ? 0
                        : tessera::stencil::field_hash<T>(u.now(), u.box().low, u.problem().global,
                                                          point.request.method.threads);
  return point.comm.sum(std::uint64_t{mine});
}

/// Where there are no hardware counters. `auto` blocks time as cache_oblivious does.
run::Counted stand_in(const Request& request) {
  if (request.dims() == 3) return run::not_simulated("three dimensions are not traced");
  const std::vector<index_t> extents = request.extents();
  return run::simulated({.workload = "stencil",
                         .kernel = request.kernel == "auto" ? "cache_oblivious" : request.kernel,
                         .element_bytes = static_cast<index_t>(bytes(request.element)),
                         .m = request.dims() == 1 ? 1 : extents.front(),
                         .n = extents.back(),
                         .column_width = request.method.tuning.column,
                         .steps = request.shape.steps,
                         .stencil = request.problem().stencil.name});
}

void describe(const Point& point, std::uint64_t hash, index_t messages, run::Measured& measured) {
  const Request& request = point.request;
  measured.stand_in = [&request] { return stand_in(request); };
  measured.columns = {{"stencil", request.problem().stencil.name},
                      {"shape", fmt::format("{}", fmt::join(request.extents(), "x"))},
                      {"type", std::string(name(request.element))},
                      {"steps", request.shape.steps},
                      {"kernel", request.kernel},
                      {"grid", layout::parts_text(request.plan.grid.parts, request.dims())},
                      {"halo_steps", request.plan.halo_steps},
                      {"messages", point.comm.sum(messages)},
                      {"hash", fmt::format("{:016x}", hash)}};
  measured.work = request.updates();
  measured.rate_units = "Gpoints/s";
  measured.ceiling = "copy";
  measured.per_ceiling = 2 * static_cast<double>(bytes(request.element));
}

/// The datasets of a point's outputs, by number.
struct Datasets {
  std::optional<std::size_t> out, snapshots;
};

Datasets add_outputs(const Request& request, const run::Values& values, index_t first,
                     run::Outputs& outputs) {
  Datasets datasets;
  std::vector<std::string> dimensions{"z", "y", "x"};
  dimensions.erase(dimensions.begin(), dimensions.end() - request.dims());
  if (values.has("snapshots")) {
    auto frames = frames_of(request, first);
    auto shape = request.extents();
    shape.insert(shape.begin(), static_cast<index_t>(frames.size()));
    auto with_time = dimensions;
    with_time.insert(with_time.begin(), "time");
    datasets.snapshots = outputs.add(io::parse_dataset_name(values.text("snapshots"), "snapshots"), shape,
                                     request.element, with_time);
    outputs.spec(*datasets.snapshots).time = std::move(frames);
    outputs.spec(*datasets.snapshots).image = true;
  }
  if (values.has("out")) {
    datasets.out = outputs.add(io::parse_dataset_name(values.text("out"), "out"), request.extents(),
                               request.element, dimensions);
    outputs.spec(*datasets.out).image = true;
  }
  return datasets;
}

/// The XDMF files beside what was written.
void describe_images(const Point& point, run::Outputs& outputs, const Datasets& datasets) {
  const auto describe = [&](const char* option, std::optional<std::size_t> dataset) {
    if (!dataset) return;
    const std::string file = io::parse_dataset_name(point.values.text(option), option).file;
    mpi::on_root(point.comm, "write",
                 [&] { fmt::print("written: {}\n", io::write_xdmf(file, outputs.spec(*dataset))); });
  };
  describe("snapshots", datasets.snapshots);
  if (point.values.flag("xdmf")) describe("out", datasets.out);
}

/// The stops of a repetition, and what they leave.
template <class T>
struct Stops {
  std::optional<Check<T>> check;
  std::optional<Snapshots<T>> snapshots;
  std::optional<Checkpoints<T>> checkpoints;
  std::optional<Series<T>> series;
  std::optional<Frames<T>> frames;

  [[nodiscard]] std::vector<Stop*> all() {
    std::vector<Stop*> result;
    if (check) result.push_back(&*check);
    if (snapshots) result.push_back(&*snapshots);
    if (series) result.push_back(&*series);
    if (frames) result.push_back(&*frames);
    if (checkpoints) result.push_back(&*checkpoints);
    return result;
  }
};

template <class T>
class Run {
 public:
  explicit Run(const Point& point) : point_(point) {
    const auto& request = point.request;
    mpi::together(point.comm, "allocate", [&] {
      u_ = DistributedField<T>(request.problem(), request.plan.grid, point.comm.rank(),
                               request.plan.halo_steps);
    });
    if (resumes(point.values)) {
      begin();
      first_ = resume(point, u_);
    }
    datasets_ = add_outputs(request, point.values, first_, outputs_);
    outputs_.open(point.comm, point.values);
  }

  bool run() {
    const auto& values = point_.values;
    const index_t steps = point_.request.shape.steps;
    index_t left = values.integer("warmups") + values.integer("repetitions");
    Stops<T> stops;
    Traffic traffic;
    const auto prepare = [&] {
      if (!resumes(values)) begin();
    };
    run::Measured measured = run::measure(point_.comm, values, prepare, [&](mpi::Phases& phases) {
      if (--left == 0) add_stops(stops, phases);
      traffic = march(point_.comm, u_, first_, steps, point_.request.method, stops.all(), phases);
      if (stops.snapshots) stops.snapshots->finish();
    });
    measured.once = once_;
    if (stops.check) {
      const mpi::PhaseScope scope(measured.once, "verify");
      measured.verdict = stops.check->verdict();
    }
    if (values.has("preview")) draw_picture(point_, u_, steps, values.text("preview"));
    if (stops.series) measured.tables.push_back({io::schema::series, stops.series->rows()});
    describe(point_, hash_of(point_, u_), traffic.messages, measured);
    measured.work *= steps > 0 ? static_cast<double>(steps - first_) / static_cast<double>(steps) : 0;
    const bool right = outputs_.conclude(point_.comm, values, point_.session, measured, [&] { write(); });
    if (right) describe_images(point_, outputs_, datasets_);
    return right;
  }

 private:
  /// The field before the first step.
  void begin() {
    mpi::together(point_.comm, "read", [&] {
      mpi::Phases untimed;
      const mpi::PhaseScope scope(loaded_ ? untimed : once_, "read");
      load(point_.request, point_.inputs, u_);
      load_given(point_.request, point_.inputs, u_);
      loaded_ = true;
    });
  }

  void add_stops(Stops<T>& stops, mpi::Phases& phases) {
    const auto& values = point_.values;
    if (!values.flag("no-verify")) stops.check.emplace(point_, u_, first_, point_.request.shape.steps);
    if (datasets_.snapshots)
      stops.snapshots.emplace(point_, u_, outputs_, *datasets_.snapshots, frames_of(point_.request, first_),
                              phases);
    if (values.has("probe") || values.flag("norms")) stops.series.emplace(point_, u_, phases);
    if (values.has("frames")) stops.frames.emplace(point_, u_, frames_of(point_.request, first_), phases);
    if (values.has("checkpoint")) stops.checkpoints.emplace(point_, u_, first_, phases);
  }

  void write() {
    if (!datasets_.out || u_.box().empty()) return;
    io::write_grid<T>(u_.box(), std::as_const(u_).now(),
                      [&](auto slab, auto bytes) { outputs_.write_slab(*datasets_.out, slab, bytes); });
  }

  const Point& point_;
  DistributedField<T> u_;
  index_t first_ = 0;
  run::Outputs outputs_;
  Datasets datasets_;
  mpi::Phases once_;
  bool loaded_ = false;
};

PointActions actions_of(const mpi::Communicator& comm, const std::shared_ptr<Inputs>& inputs) {
  const auto plan = [&comm, inputs](const run::Values& values, run::Session& session) {
    const Request request = resolve(comm, values, *inputs, session.ceilings());
    if (comm.is_root()) print_plan(request);
  };
  const auto run = [&comm, inputs](const run::Values& values, run::Session& session) {
    const Request request = resolve(comm, values, *inputs, session.ceilings());
    run::require_memory(comm, values, memory_of(request, comm.rank()),
                        [&](index_t ranks) { return most_memory(request, ranks); });
    const Point point{comm, values, request, *inputs, session};
    return request.element == Element::f32 ? Run<float>(point).run() : Run<double>(point).run();
  };
  const auto need = [&comm, inputs](const run::Values& values, const run::Ceilings& ceilings, index_t) {
    return need_of(resolve(comm, values, *inputs, ceilings));
  };
  return {plan, run, need};
}

Actions look(const run::OptionSet& set, const run::Parsed& parsed) {
  check_options(set, parsed);
  const std::string& checkpoint = parsed.lists.at("checkpoint").front();
  for (const char* output : {"out", "snapshots"}) {
    const auto& name = parsed.lists.at(output).front();
    require(name.empty() || checkpoint.empty() ||
                !io::same_file(io::parse_dataset_name(name, output).file, checkpoint),
            ExitCode::usage,
            fmt::format("--checkpoint and --{} name the same file '{}'; give checkpoints one of their own",
                        output, checkpoint));
  }
  auto inputs = std::make_shared<Inputs>();
  const auto open = [&](const char* option) -> std::unique_ptr<run::Input> {
    const auto& value = parsed.lists.at(option).front();
    if (value.empty() || (std::string(option) == "weights" && value.find(":/") == std::string::npos))
      return nullptr;
    auto input = std::make_unique<run::Input>(value, option);
    for (const char* output : {"out", "snapshots"}) {
      const auto& out = parsed.lists.at(output).front();
      if (!out.empty())
        run::require_distinct_files(io::parse_dataset_name(out, output).file, input->name(), option);
    }
    run::require_distinct_files(parsed.lists.at("checkpoint").front(), input->name(), option);
    return input;
  };
  inputs->in = open("in");
  inputs->past = open("past");
  inputs->given = open("given");
  inputs->weights = open("weights");
  return [inputs](const mpi::Communicator& comm) { return actions_of(comm, inputs); };
}

}  // namespace
}  // namespace stencil

Command stencil_command() {
  static const run::OptionSet set = stencil::declare();
  return workload_command(set, [](const run::Parsed& parsed) { return stencil::look(set, parsed); });
}

}  // namespace tessera::apps
