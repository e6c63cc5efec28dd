// Resolves a point of the sweep: shapes and types from files or options, kernels and transports.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "dist/matmul/on_devices.hpp"
#include "mpi/agreement.hpp"
#include "mpi/shared_memory.hpp"
#include "run/device.hpp"
#include "run/held.hpp"
#include "run/session.hpp"
#include "run/shares.hpp"
#include "workloads/matmul/problem.hpp"

namespace tessera::inline v1::workloads::matmul {
namespace {

using dist::matmul::Method;
using run::Values;

namespace kernels = tessera::matmul;

void resolve_precision(const mpi::Communicator& comm, const Values& point, Problem& problem) {
  const std::string& name = point.text("precision");
  auto& precision = problem.method.tuning.precision;
  precision = kernels::precision_named(name);
  if (precision == kernels::Precision::full) return;
  mpi::together(comm, "plan", [&] {
    require(problem.method.kernel->name == "cuda_tensor" && problem.element == Element::f32,
            ExitCode::usage,
            fmt::format("--precision {} requires --kernel cuda_tensor and --type f32: this is {} "
                        "in {}; drop it or use those",
                        name, problem.method.kernel->name, tessera::name(problem.element)));
  });
}

/// Chooses whether operands and result stay on the GPUs, and the transport between them.
void choose_exchange(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                     Problem& problem) {
  const auto& q = problem.shape;
  const auto bytes = [&]<class T>(Type<T>) {
    return dist::matmul::DeviceProduct<T>::device_bytes({q.m, q.n, q.k, q.op_a, q.op_b},
                                                        comm.rank(), q.ranks);
  };
  run::Residence residence{.ranks = q.ranks, .limit = point.bytes("device-memory")};
  const bool on_device = problem.method.kernel->space == Space::device;
  residence.possible = on_device &&
                       problem.kernels == problem.method.kernel->name &&  // on every rank
                       !is_complex_element(problem.element);
  if (residence.possible && q.ranks == comm.size())
    residence.device_bytes =
        problem.element == Element::f32 ? bytes(Type<float>{}) : bytes(Type<double>{});
  problem.gpus = inputs.gpus->at(comm, point, residence);
  if (problem.gpus != nullptr)
    problem.algorithm = fmt::format("gpu_{}", mpi::name(problem.gpus->transport()));
}

void require_factors(const Values& point, const Problem& problem) {
  for (const auto& [option, value] : {std::pair{"alpha", problem.alpha}, {"beta", problem.beta}}) {
    for (const double part : {value.re, value.im})
      run::require_held(problem.element, part, fmt::format("--{} {}", option, point.text(option)));
    require(
        value.im == 0 || is_complex_element(problem.element), ExitCode::usage,
        fmt::format("--{} {} is not real: the product is computed in {}; try --type c64 or c128",
                    option, point.text(option), tessera::name(problem.element)));
  }
}

/// Chooses the kernel. Products beyond a device's memory are processed in pieces, which need some
/// memory.
void choose_kernel(const mpi::Communicator& comm, const Values& point, Problem& problem) {
  Method& method = problem.method;
  method.kernel = &kernels::best();
  constexpr index_t enough = index_t{1} << 30;
  const index_t whole =
      tessera::machine::built_with_cuda() ? most_memory(problem, problem.shape.ranks) : 0;
  const index_t least = method.tuning.device_memory > 0 ? method.tuning.device_memory : enough;
  method.kernel = &run::choose_kernel<kernels::Variant>(
      comm, point, {kernels::variants(), kernels::best(), kernels::best_device()},
      std::min(whole, least));
  problem.kernels = method.kernel->name;
  if (method.kernel->space == Space::host) return;
  mpi::alike("plan", [&] {
    require(!is_complex_element(problem.element) || method.kernel->c64 != nullptr, ExitCode::usage,
            fmt::format("--kernel {} does not support complex numbers ({}): on GPUs cuda_tensor "
                        "and cuda_tensor_3m do; use one of those or --kernel auto",
                        method.kernel->name, tessera::name(problem.element)));
  });
  const bool drives = run::drives_gpu(comm, point);
  if (comm.sum(index_t{drives ? 1 : 0}) == comm.size()) return;
  problem.kernels += fmt::format("+{}", kernels::best().name);
  if (!drives) method.kernel = &kernels::best();
}

/// Measures the speed of each rank, if shares depend on it.
void weigh_ranks(const mpi::Communicator& comm, const Values& point, Problem& problem) {
  const bool on_gpu = problem.method.kernel->space == Space::device;
  problem.method.weights = run::weights_of(comm, point, on_gpu, [&] { return speed_of(problem); });
  mpi::alike("plan", [&] {
    require(problem.method.weights.empty() || info(problem.method.algorithm).uses.plans,
            ExitCode::usage,
            fmt::format("shares by measured speed (--gpu-ranks, --shares measured) require "
                        "--algorithm {}; use it or --shares equal",
                        fmt::join(algorithms_with(&dist::matmul::Uses::plans), " or ")));
  });
}

/// Returns this rank's view of whether the ranks can share matrices: all are on one node and their
/// kernels run on the host. Collective.
bool could_share(const mpi::Communicator& comm, const Problem& problem) {
  const auto& q = problem.shape;
  const index_t bytes = (q.m * q.k + q.k * q.n + q.m * q.n) * q.element_bytes;
  const bool here = comm.size() > 1 && problem.gpus == nullptr && q.ranks == comm.size() &&
                    comm.node().size() == comm.size();  // the same on every rank
  return here && mpi::SharedMemory::works_here(comm) && bytes <= mpi::SharedMemory::available() &&
         problem.kernels == problem.method.kernel->name &&
         problem.method.kernel->space == Space::host;
}

/// Returns whether homes may be any boxes: not if files are chunked, since several ranks would read
/// the same chunks, nor on GPUs, which keep rows.
bool may_live_anywhere(const Problem& problem, const Inputs& inputs) {
  if (problem.gpus != nullptr) return false;
  return problem.a_chunk.empty() && problem.b_chunk.empty() && !inputs.c;
}

bool fits_rank(const Problem& problem, const dist::matmul::Forecast& f) {
  return problem.allowance.holds({f.memory(), f.seen_bytes});
}

/// Returns whether every rank's part fits its memory.
bool fits(const Problem& problem) {
  const auto& all = problem.planned.forecasts;
  return std::all_of(all.begin(), all.end(),
                     [&](const dist::matmul::Forecast& f) { return fits_rank(problem, f); });
}

/// Chooses slices and rounds: slices of k, each fetched during the arithmetic of the previous one,
/// if messages take long and memory suffices; rounds over parts of C if memory is insufficient for
/// all of it. A product that does not fit then is computed out of core or refused.
void choose_order(index_t wanted_slices, Problem& problem) {
  Method& method = problem.method;
  auto& q = problem.shape;
  const auto fits_in = [&](index_t slices) {
    if (std::exchange(method.slices, slices) != slices)
      problem.planned.forecasts = forecast(q, method, problem.planned);
    return fits(problem);
  };
  const dist::matmul::Seen shared = q.seen;
  do {  // shared memory is resident in every rank that touches it
    problem.planned = plan_product(q, method);
    const index_t pays = q.seen.all() ? method.slices : slices_that_pay(q, method, problem.planned);
    if (fits_in(wanted_slices > 0 && !q.seen.all() ? wanted_slices : pays)) return;
    if (wanted_slices == 0 && fits_in(1)) return;
    auto in_rounds = plan_in_rounds(
        q, method, [&](const dist::matmul::Forecast& f) { return fits_rank(problem, f); });
    if (!in_rounds.forecasts.empty()) {
      problem.planned = std::move(in_rounds);
      return;
    }
  } while (std::exchange(q.seen, {}).any());
  q.seen = shared;
  problem.planned = plan_product(q, method);
}

/// Plans the product, once. Every rank knows whether all ranks' memory suffices.
void plan(index_t wanted_slices, Problem& problem) {
  Method& method = problem.method;
  const bool by_plans = info(method.algorithm).uses.plans && problem.gpus == nullptr;
  if (by_plans && problem.shape.ranks > 1)
    choose_order(wanted_slices, problem);
  else
    problem.planned = plan_product(problem.shape, method);
  problem.fits = fits(problem);
  if (by_plans)
    method.plans = std::make_shared<const std::vector<dist::matmul::Plan>>(problem.planned.plans);
}

}  // namespace

layout::ProcessGrid parse_grid(const std::string& text) {
  if (text.empty()) return {0, 0};
  const auto parts = split(text, 'x');
  std::vector<index_t> extents;
  for (const std::string& part : parts) {
    const bool is_number =
        !part.empty() && part.size() < 8 && part.find_first_not_of("0123456789") == part.npos;
    extents.push_back(is_number ? std::stoll(part) : 0);
  }
  require(extents.size() == 2 && extents[0] > 0 && extents[1] > 0, ExitCode::usage,
          "--grid '" + text + "' is not a valid grid; write ROWSxCOLS, e.g. 2x3");
  return {extents[0], extents[1]};
}

Problem resolve(const mpi::Communicator& comm, const Values& point, const Inputs& inputs) {
  Problem problem;
  auto& q = problem.shape;
  resolve_data(comm, point, inputs, problem);
  problem.alpha = point.complex("alpha");
  problem.beta = point.complex("beta");
  q.reads_c = problem.beta != 0.0;
  q.element_bytes = static_cast<index_t>(bytes(problem.element));
  if (is_complex_element(problem.element)) q.flops_each = 8;
  q.ranks = point.flag("plan") && point.has("ranks") ? point.integer("ranks") : comm.size();
  Method& method = problem.method;
  problem.algorithm = point.text("algorithm");
  problem.type = point.text("precision") == "full" ? std::string(name(problem.element))
                                                   : point.text("precision");
  problem.ops = point.text("trans-a") + point.text("trans-b");
  problem.out = point.text("out");
  problem.seed = static_cast<std::uint64_t>(point.integer("seed"));
  problem.verify = !point.flag("no-verify");
  for (const auto& row : dist::matmul::algorithms()) {
    if (row.name == problem.algorithm) method.algorithm = row.algorithm;
  }
  method.tuning.tile = point.integer("tile");
  method.tuning.block = point.integer("block");
  method.tuning.column_width = point.integer("column-width");
  method.tuning.device_memory = point.bytes("device-memory");
  method.panel = point.integer("panel");
  method.grid = parse_grid(point.text("grid"));
  method.threads = run::threads_of(point);
  method.flops_per_word = dist::matmul::core_flops_per_word * static_cast<double>(method.threads);
  mpi::alike("plan", [&] {
    require_factors(point, problem);
    for (const auto& [x, y] : {std::pair{q.m, q.k}, {q.k, q.n}, {q.m, q.n}}) {
      (void)checked_mul(checked_mul(x, y, "a matrix"), q.element_bytes, "a matrix");
    }
    if (method.grid.rows > 0 && info(method.algorithm).uses.grid) {
      require(method.grid.size() == q.ranks, ExitCode::usage,
              fmt::format(
                  "--grid {} requires {} ranks: there are {}; use as many ranks or another grid",
                  point.text("grid"), method.grid.size(), q.ranks));
    }
    require_runnable(method, q.ranks);
  });
  choose_kernel(comm, point, problem);
  resolve_precision(comm, point, problem);
  choose_exchange(comm, point, inputs, problem);
  if (problem.gpus == nullptr) weigh_ranks(comm, point, problem);
  mpi::Agreement all(comm, "plan");
  const std::size_t threads = all.largest(method.threads),
                    apart = all.largest(could_share(comm, problem) ? 0 : 1);
  const run::AllowanceFacts allowance(all, comm, point);
  all.settle();
  method.flops_per_word =
      dist::matmul::core_flops_per_word * static_cast<double>(all.value(threads));
  if (all.value(apart) == 0) q.seen = what_to_share(q, method);
  q.inside = may_live_anywhere(problem, inputs);
  problem.allowance = allowance.settled();
  plan(point.integer("slices"), problem);
  return problem;
}

}  // namespace tessera::inline v1::workloads::matmul
