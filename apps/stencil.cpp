#include "stencil.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "command.hpp"
#include "dist/stencil/samples.hpp"
#include "io/grid.hpp"
#include "kernels/stencil/verify.hpp"
#include "mpi/agreement.hpp"
#include "points.hpp"
#include "run/memory_plan.hpp"
#include "run/outputs.hpp"

namespace tessera::apps {
namespace stencil {
namespace {

using dist::stencil::DistributedField;
using dist::stencil::Samples;
using dist::stencil::Traffic;

/// A sweep whose first and last steps are followed at some points, and its sum where the stencil keeps it.
template <class T>
class CheckedSweep {
 public:
  CheckedSweep(const Point& point, DistributedField<T>& u)
      : point_(point), u_(u), conserves_(conserves(u.problem().stencil, u.problem().sides)) {}

  Traffic run(mpi::Phases& phases) {
    const index_t steps = point_.request.shape.steps;
    const index_t followed =
        dist::stencil::sample_steps(u_.problem().stencil, std::min(steps, u_.halo_steps()));
    if (conserves_) before_ = sum();
    Traffic traffic;
    const auto advance = [&](index_t count) {
      const Traffic more = dist::stencil::advance(point_.comm, u_, count, point_.request.method, phases);
      traffic.exchanges += more.exchanges;
      traffic.messages += more.messages;
    };
    first_.emplace(point_.comm, u_, followed, point_.request.seed);
    advance(followed);
    first_->record(u_);
    if (steps == followed) return traffic;
    const index_t last = std::min(followed, steps - followed);
    advance(steps - followed - last);
    last_.emplace(point_.comm, u_, last, point_.request.seed + 1);
    advance(last);
    last_->record(u_);
    return traffic;
  }

  /// A sample that differs by a bit is wrong; a sum may drift by what rounding allows.
  [[nodiscard]] run::Verdict verdict() const {
    const index_t wrong = first_->wrong() + (last_ ? last_->wrong() : 0);
    if (!conserves_ || wrong > 0) return {"samples", static_cast<double>(wrong), 0};
    const auto after = sum();
    const auto& stencil = u_.problem().stencil;
    const double roundings =
        64 + static_cast<double>(point_.request.shape.steps) * (1 + static_cast<double>(stencil.taps.size()));
    const double allowed = roundings * static_cast<double>(std::numeric_limits<T>::epsilon()) *
                           std::max(before_.magnitude, after.magnitude);
    const double drift = std::abs(after.value - before_.value);
    return {"samples and sum", drift == 0 ? 0 : drift / allowed, 1};
  }

 private:
  [[nodiscard]] tessera::stencil::Sum sum() const {
    tessera::stencil::Sum all;
    if (!u_.box().empty()) all = tessera::stencil::sum<T>(std::as_const(u_).now());
    return {point_.comm.sum(all.value), point_.comm.sum(all.magnitude)};
  }

  const Point& point_;
  DistributedField<T>& u_;
  bool conserves_;
  tessera::stencil::Sum before_;
  std::optional<Samples<T>> first_, last_;
};

template <class T>
std::uint64_t hash_of(const Point& point, const DistributedField<T>& u) {
  const auto mine = u.box().empty()
                        ? 0
                        : tessera::stencil::field_hash<T>(u.now(), u.box().low, u.problem().global,
                                                          point.request.method.threads);
  return point.comm.sum(std::uint64_t{mine});
}

void describe(const Point& point, std::uint64_t hash, index_t messages, run::Measured& measured) {
  const Request& request = point.request;
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

/// Where --out goes, its dimensions named.
void add_output(const Request& request, const run::Values& values, run::Outputs& outputs) {
  if (!values.has("out")) return;
  std::vector<std::string> dimensions{"z", "y", "x"};
  dimensions.erase(dimensions.begin(), dimensions.end() - request.dims());
  outputs.add(io::parse_dataset_name(values.text("out"), "out"), request.extents(), request.element,
              dimensions);
}

template <class T>
bool run_point(const Point& point) {
  const auto& [comm, values, request, inputs, session] = point;
  run::Outputs outputs;
  add_output(request, values, outputs);
  outputs.open(comm, values);
  mpi::Phases once, untimed;
  DistributedField<T> u;
  mpi::together(comm, "allocate", [&] {
    u = DistributedField<T>(request.problem(), request.plan.grid, comm.rank(), request.plan.halo_steps);
  });
  bool loaded = false;
  const auto begin = [&] {
    mpi::together(comm, "read", [&] {
      const mpi::PhaseScope scope(loaded ? untimed : once, "read");
      load(request, inputs, u);
      loaded = true;
    });
  };
  CheckedSweep<T> checked(point, u);
  const bool check = !values.flag("no-verify");
  index_t left = values.integer("warmups") + values.integer("repetitions");
  Traffic traffic;
  run::Measured measured = run::measure(comm, values, begin, [&](mpi::Phases& phases) {
    const bool last = --left == 0;
    traffic =
        check && last ? checked.run(phases) : advance(comm, u, request.shape.steps, request.method, phases);
  });
  measured.once = once;
  if (check) {
    const mpi::PhaseScope scope(measured.once, "verify");
    measured.verdict = checked.verdict();
  }
  describe(point, hash_of(point, u), traffic.messages, measured);
  return outputs.conclude(comm, values, session, measured, [&] {
    if (!outputs.empty() && !u.box().empty()) {
      io::write_grid<T>(u.box(), std::as_const(u).now(),
                        [&](auto slab, auto bytes) { outputs.write_slab(0, slab, bytes); });
    }
  });
}

ExitCode run_all(const Sweep& sweep, const Inputs& inputs) {
  const mpi::Communicator& comm = sweep.comm;
  const auto plan = [&](const run::Values& values, run::Session& session) {
    const Request request = resolve(comm, values, inputs, session.ceilings());
    if (comm.is_root()) print_plan(request);
  };
  const auto run = [&](const run::Values& values, run::Session& session) {
    const Request request = resolve(comm, values, inputs, session.ceilings());
    run::require_memory(comm, values, memory_of(request, comm.rank()),
                        [&](index_t ranks) { return most_memory(request, ranks); });
    const Point point{comm, values, request, inputs, session};
    return request.element == Element::f32 ? run_point<float>(point) : run_point<double>(point);
  };
  return run_points(sweep, {plan, run});
}

Body prepare(const run::OptionSet& set, const run::Parsed& parsed, const Arguments& arguments) {
  check_options(set, parsed);
  auto inputs = std::make_shared<Inputs>();
  const auto look = [&](const char* option) -> std::unique_ptr<run::Input> {
    const auto& value = parsed.lists.at(option).front();
    if (value.empty() || (std::string(option) == "weights" && value.find(":/") == std::string::npos))
      return nullptr;
    auto input = std::make_unique<run::Input>(value, option);
    const auto& out = parsed.lists.at("out").front();
    if (!out.empty())
      run::require_distinct_files(io::parse_dataset_name(out, "out").file, input->name(), option);
    return input;
  };
  inputs->in = look("in");
  inputs->past = look("past");
  inputs->given = look("given");
  inputs->weights = look("weights");
  return [&set, parsed, arguments, inputs](const mpi::Communicator& comm) {
    return run_all({comm, set, parsed, arguments}, *inputs);
  };
}

}  // namespace
}  // namespace stencil

Command stencil_command() {
  static const run::OptionSet set = stencil::declare();
  return {set, [](const run::Parsed& parsed, const Arguments& arguments, ExitCode&) {
            return stencil::prepare(set, parsed, arguments);
          }};
}

}  // namespace tessera::apps
