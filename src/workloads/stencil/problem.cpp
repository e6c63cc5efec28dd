// Resolves a point of the sweep: fields, stencil, terms, kernel, grid and halo transport.

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "io/image.hpp"
#include "kernels/stencil/tuning.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/shared_memory.hpp"
#include "run/held.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

using dist::stencil::Scheme;
using io::DatasetInfo;
using run::Values;

/// Parses extents such as "512x512".
std::vector<index_t> parse_extents(const std::string& text, const char* option) {
  std::vector<index_t> extents;
  for (const std::string& word : split(text, 'x')) {
    const std::string digits(trim(word));
    require(!digits.empty() && digits.size() < 19 &&
                digits.find_first_not_of("0123456789") == std::string::npos,
            ExitCode::usage,
            fmt::format("--{} '{}' is not a list of sizes; write 512x512", option, text));
    extents.push_back(std::stoll(digits));
  }
  require(extents.size() <= 3, ExitCode::usage,
          fmt::format("--{} '{}' has {} dimensions: 1 to 3 are supported", option, text,
                      extents.size()));
  return extents;
}

/// Returns extents of 1 to 3 dimensions as (z, y, x), padded with ones in front.
Index3 padded(const std::vector<index_t>& extents) {
  Index3 result{{1, 1, 1}};
  for (std::size_t d = 0; d < extents.size(); ++d)
    result[static_cast<int>(d + 3 - extents.size())] = extents[d];
  return result;
}

std::vector<std::string> names_of(const Inputs& inputs) {
  std::vector<std::string> paths;
  for (const auto& input : inputs.in) paths.push_back(input->name().path);
  if (paths.empty()) return {"u"};
  return io::field_names(paths);
}

/// Resolves the field; infos: of --in, empty if the field is generated.
void resolve_field(const Values& point, const Inputs& inputs, const std::vector<DatasetInfo>& infos,
                   Problem& problem, int& dims) {
  std::vector<index_t> extents =
      infos.empty() ? parse_extents(point.text("shape"), "shape") : infos[0].shape;
  dims = static_cast<int>(extents.size());
  require(dims >= 1 && dims <= 3, ExitCode::bad_data,
          fmt::format("{} is {}-dimensional: fields have 1 to 3 dimensions",
                      infos.empty() ? "the field" : inputs.in[0]->name().text(), dims));
  bool small = !infos.empty();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    require(infos[i].reads_as_number(), ExitCode::bad_data,
            fmt::format("{} holds elements of {}: real or integer numbers are required",
                        inputs.in[i]->name().text(), infos[i].type_text()));
    small = small && infos[i].kind == DatasetInfo::Kind::real && infos[i].element_bytes <= 4;
  }
  problem.fields = names_of(inputs);
  problem.shape.fields = static_cast<index_t>(problem.fields.size());
  problem.shape.scheme.global = padded(extents);
  (void)checked_mul(
      checked_mul(problem.scheme().global[0], problem.scheme().global[1], "the field"),
      checked_mul(problem.scheme().global[2], 16, "the field"), "the field");
  const std::string type = point.text("type");
  problem.element = type == "f16"                                ? Element::f16
                    : type == "f32" || (type == "auto" && small) ? Element::f32
                                                                 : Element::f64;
  problem.shape.element_bytes = static_cast<index_t>(bytes(problem.element));
}

/// Checks that there are as many datasets as fields.
void check_counts(const Values& point, const Inputs& inputs, const Problem& problem) {
  const auto fields = static_cast<std::size_t>(problem.shape.fields);
  const auto check = [&](const char* option, std::size_t count, bool right) {
    require(
        right, ExitCode::usage,
        fmt::format("--{} names {} dataset(s) for {} field(s); name one per field, file.h5:/u,/v",
                    option, count, fields));
  };
  const std::size_t given = inputs.given.size(), past = inputs.past.size();
  check("past", past, past == 0 || past == fields);
  check("given", given, given <= 1 || given == fields);
  for (const char* option : {"out", "snapshots"}) {
    const auto names = io::split_names(point.text(option));
    check(option, names.size(), !point.has(option) || names.size() == fields);
    for (std::size_t i = 0; i < names.size(); ++i) {
      require(std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) ==
                  names.begin() + static_cast<std::ptrdiff_t>(i),
              ExitCode::usage, fmt::format("--{} names {} twice", option, names[i]));
    }
  }
}

/// Throws unless the type holds the value; a small number may round to zero.
void require_bounded(Element element, double value, const char* option) {
  if (std::abs(value) > 1) run::require_held(element, value, fmt::format("{} {}", option, value));
}

void resolve_stencil(const Values& point, const Inputs& inputs, const DatasetInfo& weights_info,
                     int dims, Problem& problem) {
  Scheme& scheme = problem.shape.scheme;
  const Element computed = problem.element == Element::f16 ? Element::f32 : problem.element;
  if (point.has("weights")) {
    const Weights weights = inputs.weights ? read_weights(inputs.weights->name(), weights_info)
                                           : parse_weights(point.text("weights"));
    require(
        static_cast<int>(weights.shape.size()) <= dims, ExitCode::usage,
        fmt::format(
            "--weights has {} dimensions ({}), but the field has {}; give a box of at most as many",
            weights.shape.size(), fmt::join(weights.shape, " x "), dims));
    for (const double weight : weights.values) require_bounded(computed, weight, "--weights");
    run::require_held(computed, point.real("previous"), "--previous " + point.text("previous"));
    scheme.stencil = tessera::stencil::make_stencil("weights", dims, padded(weights.shape),
                                                    weights.values, point.real("previous"));
  } else {
    scheme.stencil = tessera::stencil::named_stencil(point.text("stencil"), dims);
  }
  scheme.sides = parse_sides(point.text("boundary"), dims);
  for (const auto& both : scheme.sides)
    for (const auto& side : both) require_bounded(problem.element, side.value, "--boundary");
  check_stencil(scheme.stencil, scheme.sides, dims);
  require(inputs.past.empty() || scheme.stencil.two_levels(), ExitCode::usage,
          fmt::format("--past requires a stencil of two time levels: '{}' has one; drop --past",
                      scheme.stencil.name));
  require(
      scheme.any_given() == !inputs.given.empty(), ExitCode::usage,
      scheme.any_given()
          ? "--boundary given requires a dataset of the values; name it with --given"
          : "--given requires --boundary given; name the sides with it, e.g. --boundary x=given");
}

void check_same_shape(const run::Input* input, const DatasetInfo& info,
                      const std::vector<index_t>& wanted, const char* what) {
  if (input == nullptr) return;
  require(info.reads_as_number(), ExitCode::bad_data,
          fmt::format("{} holds elements of {}: real or integer numbers are required",
                      input->name().text(), info.type_text()));
  require(info.shape == wanted, ExitCode::bad_data,
          fmt::format("{} is {}: it must have the shape of {}, {}", input->name().text(),
                      info.shape_text(), what, fmt::join(wanted, " x ")));
}

void resolve_terms(const Values& point, const Inputs& inputs, Problem& problem) {
  auto& terms = problem.shape.scheme.terms;
  for (std::size_t k = 0; k < inputs.terms.size(); ++k)
    terms.present[k] = inputs.terms[k] != nullptr;
  terms.source_factor = point.real("source-factor");
  run::require_held(problem.element, terms.source_factor,
                    "--source-factor " + point.text("source-factor"));
}

/// Returns the extents of a box in the field's dimensions.
std::vector<index_t> extents_of(const Box3& box, int dims) {
  std::vector<index_t> extents;
  for (int d = 3 - dims; d < 3; ++d) extents.push_back(box.size()[d]);
  return extents;
}

void resolve_method(const Values& point, Problem& problem) {
  auto& method = problem.method;
  method.threads = run::threads_of(point);
  method.kernel = find_variant(tessera::stencil::variants(), point.text("kernel"));
  method.tuning.tile_x = point.integer("tile-x");
  method.tuning.tile_y = point.integer("tile-y");
  method.tuning.column = point.integer("column-width");
  method.tuning.base_steps = point.integer("base-steps");
  method.tuning.block = point.integer("block");
  method.tuning.march = point.integer("march");
  if (point.text("overlap") == "yes") method.overlap = dist::stencil::Overlap::yes;
  problem.kernel = point.text("kernel");
  auto& shape = problem.shape;
  shape.threads = method.threads;
  shape.steps = point.integer("steps");
  shape.overlap = method.overlap == dist::stencil::Overlap::yes;
  shape.halo_steps = point.integer("halo-steps");
  shape.blocks_time = problem.kernel == "auto" || problem.kernel == "cache_oblivious";
  if (point.has("grid")) {
    const auto parts = parse_extents(point.text("grid"), "grid");
    require(static_cast<int>(parts.size()) == problem.dims() &&
                std::all_of(parts.begin(), parts.end(),
                            [](index_t n) { return n >= 1 && n <= 1 << 20; }),
            ExitCode::usage,
            fmt::format("--grid '{}' is not a valid grid for a field of {} dimension(s)",
                        point.text("grid"), problem.dims()));
    shape.parts = padded(parts);
  }
}

/// Checks the placement: no device kernel reads terms, no kernel does for f16, and not every
/// stencil uses them; nor do device kernels apply every boundary.
void check_place(const Values& point, const Problem& problem) {
  check_terms(problem.scheme().stencil, problem.scheme().terms);
  const auto* const kernel = problem.method.kernel;
  const bool device =
      kernel != nullptr ? kernel->space == Space::device : point.text("device") == "gpu";
  if (device) check_on_devices(problem.scheme().sides);
  require(problem.element != Element::f16 || !problem.scheme().terms.any(), ExitCode::usage,
          "fields in f16 do not support --coefficients, --source, --mask or --fill mask; try "
          "--type f32 or f64");
  require(!device || !problem.scheme().terms.any(), ExitCode::usage,
          "GPU kernels do not support --coefficients, --source, --mask or --fill mask; use "
          "--device cpu or a CPU kernel");
}

/// Whether halos can be exchanged in the shared memory of a node, the same on all ranks.
struct HaloSharing {
  bool wanted = false;  ///< and tried
  bool fails = false;   ///< on some node
  index_t ranks_per_node = 1;
  index_t room = 0;  ///< minimum over nodes of free shared memory, bytes
};

/// Sets the plan's rates of the machine and its memory, the same on every rank after one message.
HaloSharing resolve_machine(const mpi::Communicator& comm, const Values& point,
                            const run::Ceilings& ceilings, Problem& problem) {
  auto& shape = problem.shape;
  const bool other_ranks = point.flag("plan") && point.has("ranks");
  shape.ranks = other_ranks ? point.integer("ranks") : comm.size();
  const mpi::Communicator node = comm.node();
  const index_t on_node = node.size();
  const index_t planned_on_node =
      other_ranks ? std::min<index_t>(shape.ranks, std::max(1, machine::default_threads()))
                  : on_node;
  const bool crowded =
      !other_ranks && shape.threads * on_node > index_t{sysconf(_SC_NPROCESSORS_ONLN)};
  const bool wanted = point.text("exchange") != "messages" && !point.flag("plan");
  const bool fails = wanted && on_node > 1 && !mpi::SharedMemory::works_here(node);
  const auto copy = ceilings.at("copy", shape.threads * planned_on_node);
  const mpi::Network network = run::network(ceilings, shape.ranks);

  mpi::Agreement all(comm, "plan");
  const std::size_t most = all.largest(planned_on_node), any_crowded = all.largest(crowded ? 1 : 0),
                    any_fails = all.largest(fails ? 1 : 0),
                    room = all.largest(-mpi::SharedMemory::available()),
                    copied = all.of_root(copy.value_or(0)),
                    cache = all.of_root(static_cast<double>(machine::caches().l3 * on_node)),
                    latency = all.of_root(network.latency), message = all.of_root(network.message),
                    bandwidth = all.of_root(network.bandwidth),
                    crowd_bandwidth = all.of_root(network.crowd_bandwidth);
  const run::AllowanceFacts allowance(all, comm, point);
  all.settle();

  constexpr double time_slice = 50e-6;  // ranks that share a core respond in their time slice
  const auto per_node = static_cast<double>(all.value(most));
  const bool measured = all.root_value(copied) > 0;
  const double usual = std::min(10.0 * shape.threads * per_node, 100.0);  // GB/s, if not measured
  shape.rates = {(measured ? all.root_value(copied) : usual) * 1e9 / per_node,
                 {all.root_value(latency), all.root_value(message), all.root_value(bandwidth),
                  all.root_value(crowd_bandwidth)},
                 measured};
  if (all.value(any_crowded) > 0)
    shape.rates.network.latency = std::max(shape.rates.network.latency, time_slice);
  shape.cache_bytes = static_cast<index_t>(all.root_value(cache) / per_node);
  problem.allowance = allowance.settled();
  return {wanted, all.value(any_fails) != 0, all.value(most), all.least(room)};
}

/// Returns whether to share halos: requested, or some node has several ranks with halos and every
/// node's shared memory has twice the space, since other programs may need some.
bool shares_halos(const Values& point, const HaloSharing& sharing, const Problem& problem) {
  if (!sharing.wanted || problem.gpus != nullptr) return false;
  if (point.text("exchange") == "shared") {
    mpi::alike("plan", [&] {
      require(!sharing.fails, ExitCode::usage,
              "--exchange shared requires MPI shared memory, which this MPI library does not "
              "provide here; choose another or unset OMPI_MCA_osc");
    });
    return true;
  }
  if (sharing.fails || sharing.ranks_per_node == 1) return false;
  index_t largest = 0;
  for (index_t rank = 0; rank < problem.shape.ranks; ++rank)
    largest = std::max(largest, window_bytes(problem.shape, problem.plan, rank));
  return largest > 0 && 2 * sharing.ranks_per_node * largest <= sharing.room;
}

/// Returns whether every rank's part fits its memory: unknown with the libraries of a GPU.
bool fits(const Problem& problem) {
  const auto* const of_drivers =  // on ranks without a GPU, too
      find_variant(tessera::stencil::variants(), split(problem.kernel, '+').front());
  if (problem.gpus != nullptr || (of_drivers != nullptr && of_drivers->space == Space::device))
    return false;
  for (index_t rank = 0; rank < problem.shape.ranks; ++rank)
    if (!problem.allowance.holds({memory_of(problem, rank)})) return false;
  return true;
}

/// Metadata of the input files.
struct InputInfos {
  std::vector<DatasetInfo> in, past, given;
  DatasetInfo weights;
  std::array<DatasetInfo, terms_of_files.size()> terms;
};

/// Shares the metadata of all inputs in one exchange.
InputInfos share_all(const mpi::Communicator& comm, const Inputs& inputs) {
  std::vector<run::Input*> files;
  const auto name = [&](const std::unique_ptr<run::Input>& input) {
    if (input) files.push_back(input.get());
  };
  for (const auto* several : {&inputs.in, &inputs.past, &inputs.given})
    std::for_each(several->begin(), several->end(), name);
  name(inputs.weights);
  std::for_each(inputs.terms.begin(), inputs.terms.end(), name);
  const std::vector<DatasetInfo> infos = run::Input::share(comm, files);
  auto next = infos.begin();
  const auto take = [&](const std::unique_ptr<run::Input>& input) {
    return input ? *next++ : DatasetInfo{};
  };
  InputInfos found;
  for (const auto& input : inputs.in) found.in.push_back(take(input));
  for (const auto& input : inputs.past) found.past.push_back(take(input));
  for (const auto& input : inputs.given) found.given.push_back(take(input));
  found.weights = take(inputs.weights);
  for (std::size_t k = 0; k < found.terms.size(); ++k) found.terms[k] = take(inputs.terms[k]);
  return found;
}

/// Checks that every dataset has the required shape.
void check_shapes(const std::vector<std::unique_ptr<run::Input>>& inputs,
                  const std::vector<DatasetInfo>& infos, const std::vector<index_t>& wanted,
                  const char* what) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check_same_shape(inputs[i].get(), infos[i], wanted, what);
}

}  // namespace

std::vector<index_t> Problem::extents() const { return extents_of({{}, scheme().global}, dims()); }

double Problem::updates() const {
  double product = static_cast<double>(shape.steps) * static_cast<double>(shape.fields);
  for (const index_t extent : extents()) product *= static_cast<double>(extent);
  return product;
}

Problem resolve(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                const run::Ceilings& ceilings) {
  Problem problem;
  problem.init = point.text("init");
  problem.snapshots = point.has("snapshots");
  problem.files = problem.snapshots || point.has("out") || !problem.checkpoint.empty() ||
                  !inputs.in.empty() || !inputs.given.empty() ||
                  std::any_of(inputs.terms.begin(), inputs.terms.end(),
                              [](const auto& t) { return t != nullptr; });
  problem.every = point.integer("every");
  problem.seed = static_cast<std::uint64_t>(point.integer("seed"));
  problem.verify = !point.flag("no-verify");
  problem.norms = point.flag("norms");
  problem.look_every = point.integer("probe-every");
  problem.checkpoint = point.text("checkpoint");
  problem.checkpoint_every = parse_interval(point.text("checkpoint-every"));
  problem.resume = point.text("resume");
  const InputInfos found = share_all(comm, inputs);
  const auto resolve_all = [&] {
    int dims = 0;
    resolve_field(point, inputs, found.in, problem, dims);
    resolve_stencil(point, inputs, found.weights, dims, problem);
    check_counts(point, inputs, problem);
    check_shapes(inputs.in, found.in, problem.extents(), "the first field");
    check_shapes(inputs.past, found.past, problem.extents(), "the field");
    check_shapes(inputs.given, found.given, extents_of(problem.scheme().with_frame(), dims),
                 "the field with its frame");
    resolve_terms(point, inputs, problem);
    for (std::size_t k = 0; k < found.terms.size(); ++k)
      check_same_shape(inputs.terms[k].get(), found.terms[k], problem.extents(), "the field");
    resolve_method(point, problem);
    problem.probes = parse_probes(point.text("probe"), problem.scheme());
  };
  if (inputs.weights)
    mpi::together(comm, "plan", resolve_all);  // every rank reads the weights
  else
    mpi::alike("plan", resolve_all);
  find_domain(comm, point, inputs, problem);
  mpi::alike("plan", [&] { check_place(point, problem); });
  const HaloSharing sharing = resolve_machine(comm, point, ceilings, problem);
  mpi::alike("plan", [&] { problem.plan = make_plan(problem.shape); });
  choose_place(comm, point, inputs, problem);
  problem.shares_halos = shares_halos(point, sharing, problem);
  forecast_all(problem);
  problem.fits = fits(problem);
  return problem;
}

}  // namespace tessera::inline v1::workloads::stencil
