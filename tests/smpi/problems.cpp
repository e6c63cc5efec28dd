#include "problems.hpp"

#include <memory>

#include "base/hash.hpp"
#include "dist/matmul/freivalds.hpp"
#include "dist/sort/check.hpp"
#include "dist/sort/forecast.hpp"
#include "dist/stencil/advance.hpp"
#include "dist/stencil/plan.hpp"
#include "dist/stencil/samples.hpp"
#include "dist/transpose/checksum.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/stencil/verify.hpp"

namespace tessera::smpi {
namespace {

using mpi::Communicator;
using mpi::Network;

constexpr std::uint64_t seed = 11;

// Each prepare_... makes the data of this rank; the functions of a Run share its ownership.

struct MatmulCase {
  dist::matmul::Algorithm algorithm;
  index_t m = 1024, n = 1024, k = 1024;
};

Run prepare_matmul(const Communicator& comm, const Network& network, MatmulCase x) {
  using namespace dist::matmul;
  struct State {
    dist::DistributedMatrix<double> a, b, c;
    Method method;
    mpi::Phases phases;
    [[nodiscard]] Product<double> product() { return {1.0, a, Op::none, b, Op::none, 0.0, c}; }
  };
  const ForecastRequest request{.m = x.m, .n = x.n, .k = x.k, .ranks = comm.size(), .inside = true};
  Method method{.algorithm = x.algorithm, .panel = 64};
  const auto planned = std::make_shared<const ProductPlan>(plan_product(request, method));
  if (!planned->plans.empty())
    method.plans = std::make_shared<const std::vector<Plan>>(planned->plans);
  auto state = std::make_shared<State>(State{
      {comm, planned->homes.a}, {comm, planned->homes.b}, {comm, planned->homes.c}, method, {}});
  if (x.algorithm == Algorithm::summa) {  // the communicators that the first product creates and
                                          // later ones reuse
    const layout::ProcessGrid grid = layout::nearest_square(comm.size(), x.m, x.n);
    (void)comm.grid_lines(grid.rows, grid.cols);
  }
  fill_random(state->a, seed, 1);
  fill_random(state->b, seed, 2);
  const auto check = [=] {
    const Product<double> product = state->product();
    const Freivalds<double> freivalds(comm, product, seed, 1);
    std::uint64_t digest = 0;
    const auto c = state->c.view();
    for (index_t i = 0; i < c.rows; ++i) {
      for (index_t j = 0; j < c.cols; ++j)
        digest += hash_at(std::bit_cast<std::uint64_t>(c(i, j)),
                          static_cast<std::uint64_t>((state->c.box().rows.begin + i) * x.n +
                                                     state->c.box().cols.begin + j));
    }
    return Outcome{freivalds.ratio() <= freivalds.tolerance, comm.sum(digest)};
  };
  return {[=] { multiply(comm, state->product(), state->method, state->phases); }, check,
          [=] { return exchange_time(request, state->method, network, *planned).all(); }};
}

Run prepare_transpose(const Communicator& comm, const Network& network,
                      dist::transpose::Algorithm algorithm) {
  using namespace dist::transpose;
  using tessera::transpose::Indices;
  constexpr index_t rows = 2048, cols = 1536, bytes = 8;
  struct State {
    dist::DistributedRecords a, b;
    Method method;
    mpi::Phases phases;
  };
  auto state =
      std::make_shared<State>(State{{comm, layout::row_blocks(rows, cols, comm.size()), bytes},
                                    {comm, layout::row_blocks(cols, rows, comm.size()), bytes},
                                    {.algorithm = algorithm, .tuning = {.threads = 1}},
                                    {}});
  const auto a = state->a.view();
  for (index_t i = 0; i < a.rows; ++i) {
    for (index_t j = 0; j < cols; ++j)
      reinterpret_cast<std::uint64_t&>(*a.at(i, j)) =
          mix64(static_cast<std::uint64_t>((state->a.box().rows.begin + i) * cols + j));
  }
  const auto check = [=] {
    const auto want = matrix_checksum(comm, state->a, Indices::as_stored, seed, 1);
    const auto got = matrix_checksum(comm, state->b, Indices::swapped, seed, 1);
    return Outcome{got == want, got};
  };
  const ForecastRequest request{.rows = rows, .cols = cols, .ranks = comm.size()};
  return {
      [=] {
        transpose_matrix(comm, {state->a, Op::transpose, state->b}, state->method, state->phases);
      },
      check, [=] { return exchange_seconds(request, state->method, network); }};
}

Run prepare_sort(const Communicator& comm, const Network& network,
                 dist::sort::Algorithm algorithm) {
  using namespace dist::sort;
  constexpr index_t n = index_t{1} << 21;
  struct State {
    std::vector<std::uint64_t> keys, spare;
    tessera::sort::Content input;
    index_t held = 0;
    Method method;
    mpi::Phases phases;
  };
  const layout::BlockMap shares(n, comm.size());
  const index_t mine = shares.size(comm.rank());
  auto state = std::make_shared<State>();
  state->method = {.algorithm = algorithm};
  state->keys.resize(static_cast<std::size_t>(mine));
  state->spare.resize(state->keys.size());
  tessera::sort::generate(tessera::sort::input("uniform"), seed, shares.begin(comm.rank()), n,
                          std::span(state->keys));
  state->input = content(comm, std::span<const std::uint64_t>(state->keys), {seed, 1});
  const auto work = [=] {
    state->held =
        sort_keys(comm, Room<std::uint64_t>{state->keys.data(), state->spare.data(), mine},
                  Order::ascending, state->method, state->phases);
  };
  const auto check = [=] {
    const auto keys =
        std::span<const std::uint64_t>(state->keys).first(static_cast<std::size_t>(state->held));
    std::uint64_t digest = 0;
    auto place = static_cast<std::uint64_t>(shares.begin(comm.rank()));
    for (const std::uint64_t key : keys) digest += hash_at(key, place++);
    return Outcome{faults(comm, keys, Order::ascending, state->input, Hashing{seed, 1}) == 0,
                   comm.sum(digest)};
  };
  return {work, check, [=] {
            return exchange_seconds({.n = n, .ranks = comm.size(), .algorithm = algorithm},
                                    network);
          }};
}

Run prepare_stencil(const Communicator& comm, const Network& network, index_t halo_steps) {
  using namespace dist::stencil;
  using tessera::stencil::all_sides;
  constexpr index_t side = 1024, steps = 32;
  struct State {
    DistributedField<double> u;
    std::unique_ptr<Samples<double>> samples;
    Method method;
    mpi::Phases phases;
  };
  PlanRequest request{.scheme = {tessera::stencil::named_stencil("heat", 2),
                                 all_sides({Boundary::periodic, 0}),
                                 {{1, side, side}}},
                      .steps = steps,
                      .ranks = comm.size(),
                      .halo_steps = halo_steps};
  request.rates.network = network;
  const Plan plan = make_plan(request);
  auto state = std::make_shared<State>();
  state->u = DistributedField<double>(request.scheme, plan.grid, comm.rank(), plan.halo_steps);
  const Box3 box = state->u.box();
  for (index_t y = box.low[1]; y < box.high[1]; ++y) {
    for (index_t x = box.low[2]; x < box.high[2]; ++x)
      state->u.now()({{0, y - box.low[1], x - box.low[2]}}) =
          static_cast<double>(mix64(static_cast<std::uint64_t>(y * side + x)) >> 40);
  }
  state->samples = std::make_unique<Samples<double>>(comm, state->u, steps, seed);
  const auto check = [=] {
    state->samples->record(state->u);
    const bool right = state->samples->wrong() == 0;
    const auto now = std::as_const(state->u).now();
    return Outcome{right, comm.sum(box.empty() ? 0
                                               : tessera::stencil::field_hash<double>(
                                                     now, box.low, {{1, side, side}}))};
  };
  const auto predicted = [=] {
    double slowest = 0;
    for (index_t rank = 0; rank < request.ranks; ++rank)
      slowest = std::max(slowest, forecast(request, plan, rank).exchange_seconds);
    return slowest;
  };
  return {[=] { advance(comm, state->u, steps, state->method, state->phases); }, check, predicted};
}

}  // namespace

const std::vector<Workload>& workloads() {
  const auto with = [](const auto& prepare, auto how) {
    return [=](const Communicator& comm, const Network& network) {
      return prepare(comm, network, how);
    };
  };
  using Product = dist::matmul::Algorithm;
  using Turn = dist::transpose::Algorithm;
  using Sort = dist::sort::Algorithm;
  static const std::vector<Workload> all{
      {"matmul-recursive", with(prepare_matmul, MatmulCase{Product::recursive})},
      {"matmul-summa", with(prepare_matmul, MatmulCase{Product::summa})},
      {"matmul-summa-deep", with(prepare_matmul, MatmulCase{Product::summa, 512, 768, 8192})},
      {"matmul-summa-wide", with(prepare_matmul, MatmulCase{Product::summa, 200, 6000, 2000})},
      {"matmul-summa-tall", with(prepare_matmul, MatmulCase{Product::summa, 9000, 300, 3000})},
      {"transpose-alltoall", with(prepare_transpose, Turn::alltoall)},
      {"transpose-pairwise", with(prepare_transpose, Turn::pairwise)},
      {"sort-exact", with(prepare_sort, Sort::exact)},
      {"sort-samplesort", with(prepare_sort, Sort::samplesort)},
      {"stencil-1-step", with(prepare_stencil, index_t{1})},
      {"stencil-4-steps", with(prepare_stencil, index_t{4})}};
  return all;
}

}  // namespace tessera::smpi
