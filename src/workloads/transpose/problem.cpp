// Resolves a point of the sweep: extents, element type, axes, scaling, kernel and algorithm.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/text.hpp"
#include "dist/transpose/axes.hpp"
#include "dist/transpose/on_devices.hpp"
#include "kernels/transpose/permute.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/shared_memory.hpp"
#include "run/device.hpp"
#include "run/held.hpp"
#include "run/shares.hpp"
#include "workloads/transpose/problem.hpp"

namespace tessera::inline v1::workloads::transpose {
namespace {

using dist::transpose::Algorithm;
using dist::transpose::Number;
using dist::transpose::Op;
using run::Values;

/// Returns the number type of the computation; opaque without arithmetic.
Number number_of(const io::DatasetInfo& element) {
  using Kind = io::DatasetInfo::Kind;
  if (element.kind == Kind::complex) return element.element_bytes <= 8 ? Number::c64 : Number::c128;
  if (element.kind != Kind::real || element.element_bytes < 4 || element.element_bytes > 8)
    return Number::opaque;
  return element.element_bytes == 4 ? Number::f32 : Number::f64;
}

Element element_of(Number number) {
  switch (number) {
    case Number::f32:
      return Element::f32;
    case Number::c64:
      return Element::c64;
    case Number::c128:
      return Element::c128;
    case Number::f64:
    case Number::opaque:
      break;
  }
  return Element::f64;
}

void resolve_element(const Values& point, const io::DatasetInfo* info, const std::string& name,
                     Problem& problem) {
  const std::string type = point.text("type");
  auto& scale = problem.shape.scale;
  const bool named = type != "auto";
  if (info == nullptr || named) {
    problem.element = io::number_type(named ? type : "f64");
    const bool complex = problem.element.kind == io::DatasetInfo::Kind::complex;  // not convertible
    require(info == nullptr || (info->reads_as_number() && !complex) || info->type_text() == type,
            ExitCode::bad_data,
            fmt::format("{} holds {}, which cannot be converted to --type {}; drop --type", name,
                        info == nullptr ? "" : info->type_text(), type));
  } else {
    require(info->self_contained && info->element_bytes <= tessera::transpose::max_record_bytes,
            ExitCode::bad_data,
            fmt::format("elements of {} ({}) have parts of variable length, references or more "
                        "than {} bytes; give numbers or plain records",
                        name, info->type_text(), tessera::transpose::max_record_bytes));
    problem.element = *info;
    problem.as_stored = true;
  }
  using Kind = io::DatasetInfo::Kind;
  require(
      point.text("op") != "H" || problem.element.kind != Kind::other, ExitCode::usage,
      "--op H requires numbers: records have no conjugate; use --op T to move records as they are");
  if (point.text("op") == "H" && problem.element.kind == Kind::complex)
    scale.conjugate = tessera::transpose::Conjugate::yes;
  if (!scale.plain()) {
    scale.number = number_of(problem.element);
    require(
        scale.number != Number::opaque, ExitCode::usage,
        fmt::format("--alpha and --beta require f32, f64, c64 or c128: {} holds {}; add --type f64",
                    name, problem.element.type_text()));
    for (const auto& [option, value] : {std::pair{"alpha", scale.alpha}, {"beta", scale.beta}})
      run::require_held(element_of(scale.number), value,
                        fmt::format("--{} {}", option, point.text(option)));
    problem.as_stored = false;  // arithmetic needs a native type
    const auto native = io::number_type(tessera::name(element_of(scale.number)));
    problem.element.other = native.other;
    problem.element.element_bytes = native.element_bytes;
  }
  problem.shape.element_bytes = problem.element.element_bytes;
}

void resolve_method(const mpi::Communicator& comm, const mpi::Communicator& node,
                    const Values& point, Problem& problem) {
  auto& q = problem.shape;
  auto& method = problem.method;
  problem.kernel = point.text("kernel");
  problem.algorithm = point.text("algorithm");
  method.kernel = find_variant(tessera::transpose::variants(), problem.kernel);
  q.in_place =
      point.flag("in-place") || (method.kernel != nullptr && method.kernel->in_place != nullptr);
  method.tuning.tile = point.integer("tile");
  method.tuning.order = point.text("tile-order") == "rows" ? tessera::transpose::Order::rows
                        : point.text("tile-order") == "zigzag"
                            ? tessera::transpose::Order::zigzag
                            : tessera::transpose::Order::diagonal;
  method.tuning.column_width = point.integer("column-width");
  method.tuning.threads = run::threads_of(point);
  method.tuning.device_memory = point.bytes("device-memory");
  method.piece_bytes = point.bytes("piece");
  const index_t per_node = node.size();
  mpi::Agreement all(comm, "plan");
  const std::size_t most = all.largest(per_node);
  const bool automatic = problem.algorithm == "auto";
  const bool here = per_node > 1 && !q.in_place && !problem.permutes();  // the same on a node
  const bool tries = automatic ? here : problem.algorithm == "shared" && comm.size() > 1;
  const bool works = tries && mpi::SharedMemory::works_here(node);
  const index_t result =
      per_node * ceil_div(q.rows * q.element_bytes * q.cols, index_t{comm.size()});
  const std::size_t cannot = all.largest(works && result <= mpi::SharedMemory::available() ? 0 : 1),
                    fails = all.largest(tries && !works ? 1 : 0);
  const run::AllowanceFacts allowance(all, comm, point);
  all.settle();
  problem.allowance = allowance.settled();
  q.ranks_per_node = all.value(most);
  if (automatic) {
    problem.algorithm = all.value(cannot) == 0 ? "shared" : "pairwise";
  } else if (problem.algorithm == "shared" && comm.size() > 1) {
    mpi::alike("plan", [&] {
      require(all.value(fails) == 0, ExitCode::usage,
              "--algorithm shared requires MPI shared memory, which this MPI library does not "
              "provide here; choose another or unset OMPI_MCA_osc");
    });
  }
  for (const auto& row : dist::transpose::algorithms()) {
    if (row.name == problem.algorithm) method.algorithm = row.algorithm;
  }
  if (problem.kernel == "auto")
    problem.kernel = tessera::transpose::best({nullptr, q.rows, q.cols, q.cols, q.element_bytes},
                                              {nullptr, q.cols, q.rows, q.rows, q.element_bytes})
                         .name;
  if (q.in_place) {
    problem.kernel = "in_place";
    method.kernel = nullptr;
  }
}

void check_request(const Values& point, const Problem& problem) {
  const auto& q = problem.shape;
  index_t elements = 1;
  for (const index_t extent : problem.extents)
    elements = checked_mul(elements, extent, "the input");
  (void)checked_mul(elements, 2 * q.element_bytes, "the input");
  const std::string kernel = point.text("kernel");
  require(
      !point.flag("in-place") || kernel == "auto" || kernel == "in_place", ExitCode::usage,
      fmt::format(
          "--in-place conflicts with --kernel {}, which needs a second matrix; drop one of the two",
          kernel));
  const char* const in_place = point.flag("in-place") ? "--in-place" : "--kernel in_place";
  require(!q.in_place || (q.op == Op::transpose && q.scale.plain() && !problem.permutes()),
          ExitCode::usage,
          fmt::format("a transpose in place must be the plain transpose of a matrix; drop {}, or "
                      "--op, --axes, --alpha and --beta",
                      in_place));
  require(!q.in_place || q.ranks == 1 || q.rows == q.cols, ExitCode::usage,
          fmt::format("a transpose in place on several ranks requires a square matrix: this one is "
                      "{} x {}; use one rank or drop {}",
                      q.rows, q.cols, in_place));
  require(!q.in_place || q.ranks == 1 || problem.method.algorithm == Algorithm::pairwise,
          ExitCode::usage,
          fmt::format(
              "--algorithm {} is not supported in place: ranks exchange pairwise; drop --algorithm",
              problem.algorithm));
  require(
      !point.has("axes") || point.text("op") == "T", ExitCode::usage,
      fmt::format(
          "--axes conflicts with --op {}: --axes gives the order of all axes; drop one of the two",
          point.text("op")));
  require(!problem.permutes() || q.scale.plain(), ExitCode::usage,
          "--alpha and --beta require a matrix; run --axes first, then scale the result");
  require(!problem.permutes() || kernel == "auto" || kernel == "cache_oblivious", ExitCode::usage,
          fmt::format(
              "--axes of more than two dimensions requires cache_oblivious, not {}; drop --kernel",
              kernel));
}

/// Uses the device only if requested: the bus to it is slower than the host's memory.
void choose_place(const mpi::Communicator& comm, const Values& point, Problem& problem) {
  const tessera::transpose::Variant* const best =
      problem.shape.in_place || problem.permutes() ? nullptr : tessera::transpose::best_device();
  const auto needed = [] { return index_t{0}; };  // larger matrices are processed in pieces
  const auto* const row =
      run::asked_device_kernel(comm, point, tessera::transpose::variants(), best, needed);
  if (row == nullptr) return;
  problem.method.kernel = row;
  problem.kernel = row->name;
  const bool drives = run::drives_gpu(comm, point);
  if (comm.sum(index_t{drives ? 1 : 0}) == comm.size()) return;
  problem.kernel += "+auto";
  if (!drives) problem.method.kernel = nullptr;  // the best one of the host
}

/// Measures the speed of each rank, if rows are shared by it; not in place or for more axes.
void weigh_ranks(const mpi::Communicator& comm, const Values& point, Problem& problem) {
  if (problem.shape.in_place || problem.permutes()) return;
  const auto* const kernel = problem.method.kernel;
  const bool on_gpu = kernel != nullptr && kernel->space == Space::device;
  problem.shape.weights = run::weights_of(comm, point, on_gpu, [&] { return speed_of(problem); });
}

/// Chooses whether the matrices stay on the GPUs, and the transport between them.
void choose_exchange(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                     Problem& problem) {
  const auto* const kernel = problem.method.kernel;
  const auto& q = problem.shape;
  run::Residence residence{.ranks = q.ranks, .limit = point.bytes("device-memory")};
  residence.possible = kernel != nullptr && kernel->space == Space::device &&
                       problem.kernel == kernel->name &&  // on every rank
                       !q.in_place && !problem.permutes() && q.scale.plain();
  if (residence.possible && q.ranks == comm.size()) {
    const auto a = q.home(q.rows, q.cols);
    const auto extents = problem.result_extents();
    const auto b = q.home(extents[0], extents[1]);
    residence.device_bytes =
        dist::transpose::DeviceTranspose::device_bytes({a, q.op, b, q.element_bytes}, comm.rank());
  }
  problem.gpus = inputs.gpus->at(comm, point, residence);
  if (problem.gpus == nullptr) return;
  problem.algorithm = fmt::format("gpu_{}", mpi::name(problem.gpus->transport()));
  problem.method.algorithm = Algorithm::pairwise;  // the host's matrices need no shared memory
}

/// Selects pairwise if --memory is insufficient for shared memory, which is resident in every rank
/// that touches it.
void share_if_it_fits(const Values& point, Problem& problem) {
  const bool chosen =
      point.text("algorithm") == "auto" && problem.method.algorithm == Algorithm::shared;
  if (!chosen || problem.allowance.limit == 0 || fits(problem)) return;
  problem.algorithm = "pairwise";
  problem.method.algorithm = Algorithm::pairwise;
  plan(problem);
}

}  // namespace

std::vector<index_t> Problem::result_extents() const {
  if (permutes()) return dist::transpose::permuted(extents, axes);
  return shape.op == Op::transpose ? std::vector{shape.cols, shape.rows}
                                   : std::vector{shape.rows, shape.cols};
}

std::vector<int> Problem::order() const {
  if (permutes()) return axes;
  return shape.op == Op::transpose ? std::vector{1, 0} : std::vector{0, 1};
}

double Problem::moved_bytes() const {
  const int matrices = 1 + (shape.scale.alpha != 0 ? 1 : 0) + (shape.scale.beta != 0 ? 1 : 0);
  return std::accumulate(
      extents.begin(), extents.end(), matrices * static_cast<double>(shape.element_bytes),
      [](double product, index_t extent) { return product * static_cast<double>(extent); });
}

Problem resolve(const mpi::Communicator& comm, const Values& point, const Inputs& inputs) {
  Problem problem;
  auto& q = problem.shape;
  q.op = point.text("op") == "N" ? Op::none : Op::transpose;
  q.scale.alpha = point.real("alpha");
  q.scale.beta = point.real("beta");
  const bool other_ranks = point.flag("plan") && point.has("ranks");
  q.ranks = other_ranks ? point.integer("ranks") : comm.size();
  problem.out = point.text("out");
  problem.seed = static_cast<std::uint64_t>(point.integer("seed"));
  problem.verify = !point.flag("no-verify");
  std::vector<run::Input*> files;
  for (const auto* input : {&inputs.in, &inputs.c})
    if (*input) files.push_back(input->get());
  const std::vector<io::DatasetInfo> infos = run::Input::share(comm, files);
  const io::DatasetInfo info = inputs.in ? infos.front() : io::DatasetInfo{};
  const io::DatasetInfo c = inputs.c ? infos.back() : io::DatasetInfo{};
  const bool computes = !point.flag("raw") && (q.scale.alpha != 1 || q.scale.beta != 0);
  if (computes && !files.empty())
    mpi::on_root(comm, "open input", [&] {
      for (const run::Input* input : files)
        run::require_plain_numbers(input->name(), "a transpose with --alpha or --beta");
    });
  const io::DatasetInfo* const found = inputs.in ? &info : nullptr;
  const std::string name = inputs.in ? inputs.in->name().text() : "the input";
  const std::vector<std::string> dimensions = names_for_axes(comm, point, inputs);
  mpi::alike("plan", [&] {
    resolve_extents(point, {found, name, dimensions}, problem);
    resolve_element(point, found, name, problem);
  });
  resolve_method(comm, comm.node(), point, problem);
  if (other_ranks)
    q.ranks_per_node = std::min<index_t>(q.ranks, std::max(1, machine::default_threads()));
  mpi::alike("plan", [&] {
    check_request(point, problem);
    if (!inputs.c) return;
    const bool complex = problem.element.kind == io::DatasetInfo::Kind::complex;
    if (!complex) io::require_matrix(c, inputs.c->name());
    require(!complex || c.type_text() == problem.element.type_text(), ExitCode::bad_data,
            fmt::format("{} holds {}, but the result {}; give a C of that type",
                        inputs.c->name().text(), c.type_text(), problem.element.type_text()));
    require(c.shape == problem.result_extents(), ExitCode::bad_data,
            fmt::format("{} is {}, but the result is {}; give a C of that shape",
                        inputs.c->name().text(), c.shape_text(),
                        fmt::join(problem.result_extents(), " x ")));
  });
  choose_place(comm, point, problem);
  choose_exchange(comm, point, inputs, problem);
  if (problem.gpus == nullptr) weigh_ranks(comm, point, problem);
  plan(problem);
  share_if_it_fits(point, problem);
  return problem;
}

}  // namespace tessera::inline v1::workloads::transpose
