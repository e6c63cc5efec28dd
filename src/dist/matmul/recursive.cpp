// The recursive product: executes the plan (after CARMA, Demmel et al. 2013) with one fetch of
// operands per round, except of those that stay for the next one, the local product, and the
// reduction of C if k is split.

#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/progress.hpp"
#include "dist/matmul/forecast_parts.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "machine/pages.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::MatrixLayout;

/// Returns the view of c in which this rank can accumulate immediately; empty if it cannot.
template <class T>
std::optional<MatrixView<T>> place_in_c(const Plan& plan, const Cuboid& mine,
                                        DistributedMatrix<T>& c) {
  const auto part = [&](MatrixView<T> view, index_t row, index_t col) {
    return view.block(mine.m.begin - row, mine.n.begin - col, mine.m.size(), mine.n.size());
  };
  if (grows_at_home(plan, c.layout()))
    return mine.empty() ? MatrixView<T>{} : part(c.view(), c.box().rows.begin, c.box().cols.begin);
  if (!c.shared() || splits_k(plan)) return std::nullopt;
  return part(c.whole(), 0, 0);
}

template <class T, class S>
Seen seen_of(const Product<T, S>& product) {
  return {product.a.shared(), product.b.shared(), product.c.shared()};
}

/// Synchronises shared memory: before the product the other ranks' writes are visible, after it
/// they have read. No-op without shared memory.
template <class T, class S>
void meet(const mpi::Communicator& comm, const Product<T, S>& product) {
  if (!seen_of(product).any()) return;
  const auto sync = [&] {
    product.a.sync();
    product.b.sync();
    product.c.sync();
  };
  sync();
  comm.barrier();
  sync();
}

/// A rank's boxes of the operands during a round; those that the next round needs again stay.
template <class T>
struct Operands {
  Fetched<T> a, b;
  bool a_stays = false, b_stays = false;

  /// Frees all but those that stay.
  void release() {
    if (!a_stays) a = {};
    if (!b_stays) b = {};
  }
};

/// Returns an operand's box on this rank, received in parts so that packing buffers are small.
template <class T>
Fetched<T> fetch_in_strips(const mpi::Communicator& comm, const DistributedMatrix<T>& matrix,
                           const MatrixLayout& need) {
  if (need == matrix.layout() || matrix.shared()) return fetch(comm, matrix, need);
  const layout::Box& box = need.of(comm.rank());
  Fetched<T> result{machine::Buffer<T>(box.area()), {}};
  const MatrixView<T> all = matrix_view(result.copy.data(), box.rows.size(), box.cols.size());
  for (index_t strip = 0; strip < strips_of_kept; ++strip) {
    const MatrixLayout part = strip_of(need, strip, strips_of_kept);
    const layout::Range rows = part.of(comm.rank()).rows;
    mpi::redistribute<T>(comm, matrix.layout(), matrix.view(), part,
                         all.rows_range(rows.begin - box.rows.begin, rows.size()));
  }
  result.view = all;
  return result;
}

/// Returns the values of this rank's nodes, the first accumulated in `first`; fetches all operands
/// first.
template <class T, class S>
std::vector<NodeValue<T>> compute_at_once(const Round<T, S>& round, const Plan* next,
                                          Operands<S>& operands, MatrixView<T> first,
                                          mpi::Phases& phases) {
  const auto& [comm, product, method, plan] = round;
  {
    const mpi::PhaseScope scope(phases, "exchange");
    const mpi::InFlight flight(phases, comm.size());
    const auto come = [&](Held operand, const DistributedMatrix<S>& matrix,
                          const MatrixLayout& need, Fetched<S>& here, bool& stays) {
      const bool will_stay = next != nullptr && keeps(operand, round.plan, *next);
      if (std::exchange(stays, will_stay)) return;
      here = stays ? fetch_in_strips(round.comm, matrix, need) : fetch(round.comm, matrix, need);
    };
    come(Held::a, product.a, a_layout(plan, product.op_a), operands.a, operands.a_stays);
    come(Held::b, product.b, b_layout(plan, product.op_b), operands.b, operands.b_stays);
  }
  const mpi::PhaseScope scope(phases, "compute");
  auto values = compute_nodes<T, S>({product.alpha, operands.a.view, product.op_a, operands.b.view,
                                     product.op_b, product.beta, first},
                                    method, plan, plan.of(comm.rank()), phases);
  operands.release();
  return values;
}

/// Executes one round, for which `operands` may be there from the last one.
template <class T, class S>
void follow(const Round<T, S>& round, const Plan* next, Operands<S>& operands,
            mpi::Phases& phases) {
  const auto& [comm, product, method, plan] = round;
  const Cuboid& mine = plan.of(comm.rank());
  const auto in_c = place_in_c(plan, mine, product.c);
  machine::Buffer<T> storage(in_c || mine.empty() ? 0 : mine.m.size() * mine.n.size());
  const MatrixView<T> first = in_c ? *in_c
                              : mine.empty()
                                  ? MatrixView<T>{}
                                  : matrix_view(storage.data(), mine.m.size(), mine.n.size());
  if (product.beta != T{0} && !in_c) {
    const mpi::PhaseScope scope(phases, "exchange");
    const mpi::InFlight flight(phases, comm.size());
    const bool starts = !mine.empty() && mine.leaves.begin == 0;
    mpi::redistribute<T>(comm, product.c.layout(), product.c.view(), c_start_layout(plan),
                         starts ? first : MatrixView<T>{});
  }
  const auto slices = slices_of(method, plan, seen_of(product).all());
  const auto values = slices.size() > 1 ? compute_in_slices(round, slices, first, phases)
                                        : compute_at_once(round, next, operands, first, phases);
  const mpi::PhaseScope scope(phases, "exchange");
  if (!in_c) combine_nodes(comm, plan, values, product.c, phases);
}

/// Shows the progress of all ranks by the multiplications of this one, which are those of `plans`.
template <class T>
Progress progress_of(const Shape& shape, const std::vector<Plan>& plans, index_t rank) {
  double mine = 0;
  for (const Plan& plan : plans) {
    const Cuboid& its = plan.of(static_cast<int>(rank));
    mine += static_cast<double>(its.m.size()) * static_cast<double>(its.n.size()) *
            static_cast<double>(plan.k_range(its).size());
  }
  const double all = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                     static_cast<double>(shape.leaves.k());
  constexpr double flops_each = is_complex<T> ? 8 : 2;
  return {"product", mine, Progress::Counts::multiplied, {flops_each * all / 1e9, "GFLOP"}};
}

template <class T, class S>
void recursive(const mpi::Communicator& comm, const Product<T, S>& product, const Method& method,
               mpi::Phases& phases) {
  const Shape shape{product.m(), product.n(), tessera::matmul::leaves<T>(product.k())};
  std::vector<Plan> searched;
  if (!method.plans)
    searched =
        choose_plans(shape, product.op_a, product.op_b,
                     {product.a.layout(), product.b.layout(), product.c.layout(), seen_of(product)},
                     {method.weights, method.flops_per_word}, rounds_of(method));
  const std::vector<Plan>& plans = method.plans ? *method.plans : searched;
  for (const Plan& plan : plans)
    require(plan.shape == shape && static_cast<int>(plan.cuboids.size()) == comm.size(),
            ExitCode::usage,
            "plans do not match: made for another product or another number of ranks");
  const auto meet_here = [&] {
    const mpi::PhaseScope scope(phases, "exchange");
    meet(comm, product);
  };
  meet_here();
  const Progress progress = progress_of<T>(shape, plans, comm.rank());
  Operands<S> operands;
  for (std::size_t at = 0; at < plans.size(); ++at) {
    follow(Round<T, S>{comm, product, method, plans[at]},
           at + 1 < plans.size() ? &plans[at + 1] : nullptr, operands, phases);
    if (plans.size() > 1)
      machine::give_back_released();  // the next round's buffers have other sizes
  }
  meet_here();
}

}  // namespace

constinit const AlgorithmInfo recursive_info{
    .name = "recursive",
    .algorithm = Algorithm::recursive,
    .about = "recursive splits of m, n, k (after CARMA, Demmel et al. 2013)",
    .uses = {.plans = true},
    .multiply = {recursive<float, float>, recursive<double, double>,
                 recursive<Complex<float>, Complex<float>>,
                 recursive<Complex<double>, Complex<double>>, recursive<float, Half>,
                 recursive<float, BFloat16>},
    .forecast = recursive_forecast,
    .exchange = recursive_exchange};

}  // namespace tessera::inline v1::dist::matmul
