// Homes and plans from which the forecasts are computed, and the costs that algorithms share.

#include "dist/matmul/forecast_parts.hpp"

#include <utility>

#include "dist/matmul/homes.hpp"
#include "kernels/matmul/cache_oblivious.hpp"

namespace tessera::inline v1::dist::matmul {

using layout::MatrixLayout;

namespace {

/// Returns the weights if they are for this number of ranks; another number of ranks is forecast as
/// equal.
std::vector<double> weights_of(const ForecastRequest& q, const Method& method) {
  const bool known = static_cast<index_t>(method.weights.size()) == q.ranks;
  return known ? method.weights : std::vector<double>{};
}

bool lives_inside(const ForecastRequest& q, const Method& method) {
  return q.inside && info(method.algorithm).uses.plans && !q.seen.any();
}

}  // namespace

Leaves leaves_of(const ForecastRequest& q) {
  return q.element_bytes == 4 ? tessera::matmul::leaves<float>(q.k)
                              : tessera::matmul::leaves<double>(q.k);
}

Homes homes_of(const ForecastRequest& q, const Method& method) {
  if (lives_inside(q, method)) return homes_and_plan(q, method).homes;
  Homes homes = homes_in_rows({q.m, q.n, leaves_of(q)}, q.op_a, q.op_b, q.ranks);
  homes.seen = q.seen;
  return homes;
}

bool grows_in_c(const Plan& plan, const Homes& homes) {
  return grows_at_home(plan, homes.c) || (homes.seen.c && !splits_k(plan));
}

HomesAndPlan homes_and_plan(const ForecastRequest& q, const Method& method) {
  const Shape shape{q.m, q.n, leaves_of(q)};
  const Speeds speeds{weights_of(q, method), method.flops_per_word};
  HomesAndPlan both{homes_in_rows(shape, q.op_a, q.op_b, q.ranks), {}};
  both.homes.seen = q.seen;
  const Prices prices = prices_of(both.homes, speeds.flops_per_word, rounds_of(method));
  Plan recursive = recursive_plan(shape, q.ranks, speeds.weights, prices);
  if (lives_inside(q, method))
    both.homes = choose_homes(recursive, q.op_a, q.op_b, speeds, prices.held);
  both.plan = choose_plan(std::move(recursive), q.op_a, q.op_b, both.homes, speeds);
  return both;
}

index_t add_move(Forecast& f, const MatrixLayout& home, const MatrixLayout& need, index_t rank,
                 index_t element) {
  index_t packed = 0;
  if (home == need) return packed;
  for (const layout::PeerBlock& piece : incoming(home, need, rank)) {
    if (piece.peer == rank) continue;
    f.received_bytes += piece.box.area() * element;
    ++f.messages;
    if (piece.box.rows.size() > 1 && piece.box.cols.size() != need.of(rank).cols.size())
      packed += piece.box.area();
  }
  for (const layout::PeerBlock& piece : outgoing(home, need, rank)) {
    if (piece.peer == rank) continue;
    f.sent_bytes += piece.box.area() * element;
    if (piece.box.rows.size() > 1 && piece.box.cols.size() != home.of(rank).cols.size())
      packed += piece.box.area();
  }
  return packed * element;
}

double move_seconds(const MatrixLayout& home, const MatrixLayout& need, index_t element,
                    const mpi::Network& network) {
  if (home == need) return 0;
  std::vector<mpi::Load> loads(static_cast<std::size_t>(home.ranks()));
  for (index_t rank = 0; rank < home.ranks(); ++rank) {
    mpi::Load& load = loads[static_cast<std::size_t>(rank)];
    for (const layout::PeerBlock& piece : incoming(home, need, rank)) {
      if (piece.peer == rank) continue;
      ++load.received;
      load.received_bytes += piece.box.area() * element;
    }
    for (const layout::PeerBlock& piece : outgoing(home, need, rank)) {
      if (piece.peer == rank) continue;
      ++load.sent;
      load.sent_bytes += piece.box.area() * element;
    }
  }
  return at_once(network, loads);
}

index_t kernel_bytes(const ForecastRequest& q, const Method& method, const Local& at,
                     index_t leaf_count) {
  if (method.kernel != nullptr && method.kernel->name != "cache_oblivious") return 0;
  const auto of = [&]<class T>(T) {
    const auto stored = [](Op op, index_t rows, index_t cols, index_t row) {
      return turns(op) ? MatrixView<const T>{nullptr, cols, rows, rows}
                       : MatrixView<const T>{nullptr, rows, cols, row};
    };
    const tessera::matmul::Gemm<T> g{.a = stored(q.op_a, at.m, at.k, at.a_row),
                                     .op_a = q.op_a,
                                     .b = stored(q.op_b, at.k, at.n, at.b_row),
                                     .op_b = q.op_b,
                                     .c = MatrixView<T>{nullptr, at.m, at.n, at.n}};
    return tessera::matmul::working_memory<T>(g, leaf_count);
  };
  if (q.flops_each > 2) return q.element_bytes == 8 ? of(Complex<float>{}) : of(Complex<double>{});
  return q.element_bytes == 4 ? of(float{}) : of(double{});
}

index_t home_bytes(const ForecastRequest& q, const Homes& homes, index_t rank) {
  return (homes.a.of(rank).area() + homes.b.of(rank).area() +
          (q.reads_c ? 2 : 1) * homes.c.of(rank).area()) *
         q.element_bytes;
}

}  // namespace tessera::inline v1::dist::matmul
