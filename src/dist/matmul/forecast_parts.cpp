// Homes, plans and layouts from which the forecasts are computed.

#include "dist/matmul/forecast_parts.hpp"

#include <utility>

#include "dist/matmul/homes.hpp"

namespace tessera::dist::matmul {

using layout::BlockMap;
using layout::MatrixLayout;

namespace {

/// Returns the weights if they are for this number of ranks; another number of ranks is forecast as
/// equal.
std::vector<double> weights_of(const ForecastRequest& q, const Method& method) {
  const bool known = static_cast<index_t>(method.weights.size()) == q.ranks;
  return known ? method.weights : std::vector<double>{};
}

bool lives_inside(const ForecastRequest& q, const Method& method) {
  return q.inside && method.algorithm == Algorithm::recursive && method.rounds <= 1 &&
         !q.seen.any();
}

}  // namespace

Leaves leaves_of(const ForecastRequest& q) {
  return q.element_bytes == 4 ? tessera::matmul::leaves<float>(q.k)
                              : tessera::matmul::leaves<double>(q.k);
}

Homes homes_of(const ForecastRequest& q, const Method& method) {
  if (lives_inside(q, method)) return homes_and_plans(q, method).homes;
  Homes homes = homes_in_rows({q.m, q.n, leaves_of(q)}, q.op_a, q.op_b, q.ranks);
  homes.seen = q.seen;
  return homes;
}

bool grows_in_c(const Plan& plan, const Homes& homes) {
  return grows_at_home(plan, homes.c) || (homes.seen.c && !splits_k(plan));
}

HomesAndPlans homes_and_plans(const ForecastRequest& q, const Method& method) {
  const Shape shape{q.m, q.n, leaves_of(q)};
  const Speeds speeds{weights_of(q, method), method.flops_per_word};
  HomesAndPlans both{homes_in_rows(shape, q.op_a, q.op_b, q.ranks), {}};
  both.homes.seen = q.seen;
  if (method.rounds > 1) {
    both.plans = choose_plans(shape, q.op_a, q.op_b, both.homes, speeds.weights,
                              speeds.flops_per_word, method.rounds);
    return both;
  }
  Plan recursive =
      recursive_plan(shape, q.ranks, speeds.weights, prices_of(both.homes, speeds.flops_per_word));
  if (lives_inside(q, method)) both.homes = choose_homes(recursive, q.op_a, q.op_b, speeds);
  both.plans = {choose_plan(std::move(recursive), q.op_a, q.op_b, both.homes, speeds)};
  return both;
}

GridLayouts grid_layouts(const ForecastRequest& q, const Method& method, const Leaves& leaves) {
  const layout::ProcessGrid grid = grid_of(method, q.ranks, q.m, q.n);
  const BlockMap m(q.m, grid.rows), n(q.n, grid.cols), ka(q.k, grid.cols, leaves.chunk()),
      kb(q.k, grid.rows, leaves.chunk());
  const auto stored = [](const MatrixLayout& x, Op op) {
    return op == Op::none ? x : transposed(x);
  };
  return {grid,
          m,
          n,
          ka,
          kb,
          stored(grid_blocks(m, ka, grid), q.op_a),
          stored(grid_blocks(kb, n, grid), q.op_b),
          grid_blocks(m, n, grid)};
}

}  // namespace tessera::dist::matmul
