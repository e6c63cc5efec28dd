// Relayouts of the operands to the boxes that the plan's ranks need, the local products, the sum
// where k is split, and the relayout of the result, which scales the former one.

#include "dist/matmul/laid_out.hpp"

#include <fmt/core.h>

#include <array>

#include "base/error.hpp"
#include "dist/matmul/homes.hpp"
#include "dist/matmul/multiply_plan.hpp"
#include "dist/matmul/product_parts.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::Distribution;
using relayout::LocalArray;
using relayout::Memory;
using relayout::Relayout;
using relayout::StorageOrder;

/// Returns the same elements as the transposed matrix: those of columns as rows.
template <class T>
LaidOut<T> flipped(const LaidOut<T>& x) {
  return {
      x.distribution.transposed(), x.local,
      x.order == StorageOrder::row_major ? StorageOrder::column_major : StorageOrder::row_major};
}

/// Returns the product as one with a row-major result: the transposed of op(a) op(b) is that of
/// op(b) times that of op(a), and op of a transposed matrix is the transposed op.
template <class T>
LaidOutProduct<T> with_row_major_result(const LaidOutProduct<T>& p) {
  if (p.c.order == StorageOrder::row_major) return p;
  return {p.alpha, flipped(p.b), p.op_b, flipped(p.a), p.op_a, p.beta, flipped(p.c)};
}

template <class T, class S>
Shape check(const mpi::Communicator& comm, const LaidOutProduct<T, S>& p) {
  const auto after = [](const auto& x, Op op) {
    return stored(op, x.distribution.rows(), x.distribution.cols());
  };
  const auto [m, k] = after(p.a, p.op_a);
  const auto [inner, n] = after(p.b, p.op_b);
  require_argument(inner == k, "b",
                   fmt::format("has {} rows in op(b): op(a) has {} columns", inner, k));
  const Distribution& c = p.c.distribution;
  require_argument(c.rows() == m && c.cols() == n, "c",
                   fmt::format("is {} x {}: the product is {} x {}", c.rows(), c.cols(), m, n));
  for (const auto& [name, ranks] :
       {std::pair("a", p.a.distribution.ranks()), std::pair("b", p.b.distribution.ranks()),
        std::pair("c", c.ranks())}) {
    require_argument(ranks == comm.size(), name,
                     fmt::format("is distributed over {} ranks: comm has {}", ranks, comm.size()));
  }
  return {m, n, tessera::matmul::leaves<T>(k)};
}

/// Returns this rank's elements of x as one row-major matrix. Precondition: x has one rank.
template <class T>
MatrixView<T> whole_of(const LaidOut<T>& x) {
  const layout::Box box = x.distribution.local_box(0, 0);
  return {x.local.data + box.rows.begin * x.local.ld + box.cols.begin, box.rows.size(),
          box.cols.size(), x.local.ld};
}

/// The boxes of an operand that the plan's ranks need, and this rank's.
template <class T>
struct Needed {
  layout::MatrixLayout layout;
  machine::Buffer<T> storage;
  MatrixView<T> view;
  Needed(layout::MatrixLayout boxes, index_t rank)
      : layout(std::move(boxes)), storage(layout.of(rank).area()) {
    const layout::Box& box = layout.of(rank);
    view = matrix_view(storage.data(), box.rows.size(), box.cols.size());
  }
};

template <class T>
void relayout_all(const mpi::Communicator& comm, std::span<const Relayout> matrices,
                  std::span<const Memory<T>> memory, const Method& method) {
  relayout::Plan plan(comm, matrices, static_cast<index_t>(sizeof(T)), method.threads);
  plan.execute(memory);
}

/// c = alpha * x + beta * c for x in row-major boxes.
template <class T>
void put(const mpi::Communicator& comm, const LaidOutProduct<T>& p, T alpha, LocalArray<const T> x,
         const layout::MatrixLayout& boxes, const Method& method) {
  const Relayout matrix{Distribution(boxes), Op::none, p.c.distribution, StorageOrder::row_major,
                        p.c.order};
  const Memory<T> memory{std::span(&x, 1), std::span(&p.c.local, 1), alpha, p.beta};
  relayout_all<T>(comm, std::span(&matrix, 1), std::span(&memory, 1), method);
}

template <class T>
void multiply_by_plan(const mpi::Communicator& comm, const LaidOutProduct<T>& p, const Plan& plan,
                      const Method& method, mpi::Phases& phases) {
  const index_t rank = comm.rank();
  const Cuboid& mine = plan.of(rank);
  DistributedMatrix<T> c(comm,
                         splits_k(plan) ? homes_inside(plan, p.op_a, p.op_b).c : c_layout(plan));
  const bool at_home = grows_at_home(plan, c.layout());
  machine::Buffer<T> apart(at_home || mine.empty() ? 0 : mine.m.size() * mine.n.size());
  const MatrixView<T> first = at_home ? c.view()
                                      : matrix_view(apart.data(), mine.empty() ? 0 : mine.m.size(),
                                                    mine.empty() ? 0 : mine.n.size());
  std::vector<NodeValue<T>> values;
  {
    Needed<T> a(a_layout(plan, p.op_a), rank), b(b_layout(plan, p.op_b), rank);
    {
      const mpi::PhaseScope scope(phases, "exchange");
      const std::array matrices{Relayout{p.a.distribution, Op::none, Distribution(a.layout),
                                         p.a.order, StorageOrder::row_major},
                                Relayout{p.b.distribution, Op::none, Distribution(b.layout),
                                         p.b.order, StorageOrder::row_major}};
      const LocalArray<T> to_a{a.view.data, a.view.ld}, to_b{b.view.data, b.view.ld};
      const std::array memory{Memory<T>{std::span(&p.a.local, 1), std::span(&to_a, 1)},
                              Memory<T>{std::span(&p.b.local, 1), std::span(&to_b, 1)}};
      relayout_all<T>(comm, matrices, memory, method);
    }
    const mpi::PhaseScope scope(phases, "compute");
    values = compute_nodes<T, T>({p.alpha, a.view, p.op_a, b.view, p.op_b, T{0}, first}, method,
                                 plan, mine, phases);
  }
  const mpi::PhaseScope scope(phases, "exchange");
  if (!at_home) combine_nodes(comm, plan, values, c, phases);
  put<T>(comm, p, T{1}, {c.view().data, c.view().ld}, c.layout(), method);
}

template <class T>
void multiply_numbers(const mpi::Communicator& comm, const LaidOutProduct<T>& product,
                      const Method& method, mpi::Phases& phases) {
  const LaidOutProduct<T> p = with_row_major_result(product);
  const Shape shape = check(comm, p);
  Method resolved = method;
  if (resolved.kernel == nullptr) resolved.kernel = &tessera::matmul::best();
  if (shape.k() == 0 || p.alpha == T{0})  // a row of c is any: none is read
    return put<T>(comm, p, T{0}, {}, layout::row_blocks(shape.m, shape.n, comm.size()), resolved);
  const Plan plan = recursive_plan(shape, comm.size(), method.weights,
                                   Prices{.flops_per_word = method.flops_per_word});
  const bool stays = comm.size() == 1 && p.a.order == StorageOrder::row_major &&
                     p.b.order == StorageOrder::row_major;
  if (!stays) return multiply_by_plan(comm, p, plan, resolved, phases);
  const mpi::PhaseScope scope(phases, "compute");
  compute_nodes<T, T>(
      {p.alpha, whole_of(p.a), p.op_a, whole_of(p.b), p.op_b, p.beta, whole_of(p.c)}, resolved,
      plan, plan.of(0), phases);
}

/// Multiplies halves by a plan that is used once.
template <class T, class S>
void multiply_halves(const mpi::Communicator& comm, const LaidOutProduct<T, S>& p,
                     const Method& method, mpi::Phases& phases) {
  check(comm, p);
  const auto stored = [](const auto& x) { return StoredMatrix{x.distribution, x.order}; };
  MultiplyPlan<T, S> plan(
      comm, {stored(p.a), p.op_a, stored(p.b), p.op_b, stored(p.c), p.beta != 0}, method);
  plan.execute(p.alpha, p.a.local, p.b.local, p.beta, p.c.local);
  for (const auto& [name, seconds] : plan.phases().seconds()) phases.add(name, seconds);
}

}  // namespace

template <class T, class S>
void multiply(const mpi::Communicator& comm, const LaidOutProduct<T, S>& product,
              const Method& method, mpi::Phases& phases) {
  require_multiplies<T, S>(method);
  if constexpr (is_stored_half<S>) {
    multiply_halves(comm, product, method, phases);
  } else {
    multiply_numbers(comm, product, method, phases);
  }
}

#define TESSERA_INSTANTIATE(T, S)                                                              \
  template void multiply(const mpi::Communicator&, const LaidOutProduct<T, S>&, const Method&, \
                         mpi::Phases&)
TESSERA_INSTANTIATE(float, float);
TESSERA_INSTANTIATE(double, double);
TESSERA_INSTANTIATE(Complex<float>, Complex<float>);
TESSERA_INSTANTIATE(Complex<double>, Complex<double>);
TESSERA_INSTANTIATE(Half, Half);
TESSERA_INSTANTIATE(float, Half);
TESSERA_INSTANTIATE(BFloat16, BFloat16);
TESSERA_INSTANTIATE(float, BFloat16);
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist::matmul
