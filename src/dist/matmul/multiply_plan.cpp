// Plans of products: a relayout of the operands to the boxes that the plan's ranks need, the sum of
// c where k is split, and a relayout of the result, each without what is already in its place.

#include "dist/matmul/multiply_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.hpp"
#include "dist/matmul/combination.hpp"
#include "dist/matmul/homes.hpp"
#include "dist/matmul/planned_operand.hpp"
#include "dist/relayout/local_arrays.hpp"
#include "kernels/matmul/cache_oblivious.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::Box;
using layout::Distribution;
using layout::MatrixLayout;
using relayout::LocalArray;
using relayout::Memory;
using relayout::Relayout;
using relayout::StorageOrder;

/// Returns the same elements as the transposed matrix.
StoredMatrix flipped(const StoredMatrix& x) {
  return {x.distribution.transposed(), x.order == StorageOrder::row_major
                                           ? StorageOrder::column_major
                                           : StorageOrder::row_major};
}

/// Throws Error(usage) unless shapes and ranks agree; returns the shape of the product.
template <class T>
Shape check_layouts(const mpi::Communicator& comm, const ProductLayouts& p) {
  const auto after = [](const StoredMatrix& x, Op op) {
    return stored(op, x.distribution.rows(), x.distribution.cols());
  };
  const auto [m, k] = after(p.a, p.op_a);
  const auto [inner, n] = after(p.b, p.op_b);
  require_argument(inner == k, "layouts.b",
                   fmt::format("has {} rows in op(b): op(a) has {} columns", inner, k));
  const Distribution& c = p.c.distribution;
  require_argument(c.rows() == m && c.cols() == n, "layouts.c",
                   fmt::format("is {} x {}: the product is {} x {}", c.rows(), c.cols(), m, n));
  for (const auto& [name, x] :
       {std::pair("layouts.a", &p.a), std::pair("layouts.b", &p.b), std::pair("layouts.c", &p.c)}) {
    const Distribution& d = x->distribution;
    require_argument(
        d.ranks() == comm.size(), name,
        fmt::format("is distributed over {} ranks: comm has {}", d.ranks(), comm.size()));
    require_argument(d.elements() == d.rows() * d.cols(), name,
                     fmt::format("has {} elements in its parts: must have {} x {}", d.elements(),
                                 d.rows(), d.cols()));
  }
  return {m, n, tessera::matmul::leaves<T>(k)};
}

/// Throws Error(usage) unless the method can multiply elements of T by a plan.
template <class T, class S>
void check_plan_method(const mpi::Communicator& comm, const Method& method) {
  require_method(comm, method);
  require_argument(
      method.algorithm == Algorithm::recursive, "method.algorithm",
      fmt::format("is {}: a plan multiplies by the recursive one", info(method.algorithm).name));
  require_multiplies<T, S>(method);
}

/// Returns the boxes of a distribution that has one on each rank.
std::optional<MatrixLayout> boxes_of(const Distribution& x) {
  MatrixLayout boxes{x.rows(), x.cols(), std::vector<Box>(static_cast<std::size_t>(x.ranks()))};
  for (const Distribution::Part& part : x.parts()) {
    const auto &rows = x.row_segments(part), &cols = x.col_segments(part);
    if (rows.empty() || cols.empty()) continue;
    Box& box = boxes.boxes[static_cast<std::size_t>(part.rank)];
    if (part.replica || rows.size() > 1 || cols.size() > 1 || !box.empty()) return std::nullopt;
    box = {rows.front().global, cols.front().global};
  }
  return boxes;
}

/// Returns the plan that multiply() takes for these matrices, if each has one box a rank.
Plan plan_of(const ProductLayouts& p, const Shape& shape, index_t ranks, const Method& method) {
  const auto a = boxes_of(p.a.distribution), b = boxes_of(p.b.distribution),
             c = boxes_of(p.c.distribution);
  if (a && b && c)
    return choose_plan(shape, p.op_a, p.op_b, {*a, *b, *c},
                       {method.weights, method.flops_per_word});
  return recursive_plan(shape, ranks, method.weights, {.flops_per_word = method.flops_per_word});
}

bool any(const MatrixLayout& boxes) {
  return std::any_of(boxes.boxes.begin(), boxes.boxes.end(),
                     [](const Box& box) { return !box.empty(); });
}

/// Returns where each rank accumulates its part of c in the caller's memory; nothing if one cannot.
std::optional<std::vector<Found>> places_in_c(const Plan& plan, const Distribution& c) {
  const auto& parts = c.parts();
  const bool has_replicas =
      std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.replica; });
  if (splits_k(plan) || has_replicas) return std::nullopt;
  std::vector<Found> places;
  for (index_t rank = 0; rank < c.ranks(); ++rank) {
    const Cuboid& cuboid = plan.of(rank);
    places.push_back(cuboid.empty() ? Found{} : c.find(rank, {cuboid.m, cuboid.n}));
    if (!cuboid.empty() && !places.back()) return std::nullopt;
  }
  return places;
}

}  // namespace

template <class T, class S>
struct MultiplyPlan<T, S>::State {
  using Arguments = ProductMemory<T, S>;

  State(const mpi::Communicator& communicator, const ProductLayouts& asked, const Method& chosen)
      : comm(communicator),
        is_turned(asked.c.order == StorageOrder::column_major),
        layouts(is_turned ? turned(asked) : asked),
        method(chosen),
        plan(plan_of(layouts, check_layouts<T>(comm, layouts), comm.size(), method)),
        mine(plan.of(comm.rank())),
        a(layouts.a, layouts.op_a, a_layout(plan, layouts.op_a), comm.rank()),
        b(layouts.b, layouts.op_b, b_layout(plan, layouts.op_b), comm.rank()) {
    if (method.kernel == nullptr) method.kernel = &tessera::matmul::best();
    needed = {boxes_here(layouts.a), boxes_here(layouts.b), boxes_here(layouts.c)};
    c_read.resize(needed[2].size());
    if (any(a.elsewhere) || any(b.elsewhere))
      fetch =
          relayouts<S>({{layouts.a.distribution, Op::none, Distribution(a.elsewhere), a.order},
                        {layouts.b.distribution, Op::none, Distribution(b.elsewhere), b.order}});
    plan_result();
  }

  /// The transposed of op(a) op(b) is that of op(b) times that of op(a), and op of a transposed
  /// matrix is the transposed op.
  static ProductLayouts turned(const ProductLayouts& p) {
    return {flipped(p.b), p.op_b, flipped(p.a), p.op_a, flipped(p.c), p.reads_c};
  }
  [[nodiscard]] std::vector<Box> boxes_here(const StoredMatrix& x) const {
    return relayout::stored_boxes(x.distribution, x.order, comm.rank());
  }
  /// Plans relayouts of elements of N.
  template <class N>
  [[nodiscard]] relayout::Plan relayouts(const std::vector<Relayout>& matrices) const {
    return {comm, matrices, static_cast<index_t>(sizeof(N)), method.threads};
  }

  void plan_result() {
    const Distribution& c = layouts.c.distribution;
    const auto places = places_in_c(plan, c);
    const index_t m = mine.empty() ? 0 : mine.m.size(), n = mine.empty() ? 0 : mine.n.size();
    if (places) {
      in_c = (*places)[static_cast<std::size_t>(comm.rank())];
      values = room_for_nodes<T>(plan, mine, {nullptr, m, n, n});
      return;
    }
    apart = machine::Buffer<T>(m * n);
    values = room_for_nodes(plan, mine, matrix_view(apart.data(), m, n));
    if (layouts.reads_c) start = relayouts<T>({{c, Op::none, Distribution(c_start_layout(plan))}});
    if (!splits_k(plan)) {
      put = relayouts<T>({{Distribution(c_layout(plan)), Op::none, c}});
      return;
    }
    const auto boxes = boxes_of(c);
    const MatrixLayout homes = boxes ? *boxes : homes_inside(plan, layouts.op_a, layouts.op_b).c;
    home = homes.of(comm.rank());
    combination.emplace(comm, plan, homes, values);
    if (boxes) {
      in_c = c.find(comm.rank(), home);
      return;
    }
    sums = machine::Buffer<T>(home.area());
    put = relayouts<T>({{Distribution(homes), Op::none, c}});
  }

  [[nodiscard]] Arguments memory_of(const Arguments& m) const {
    return is_turned ? Arguments{m.alpha, m.b, m.a, m.beta, m.c} : m;
  }

  /// Formats no text unless something is wrong.
  void check(const Arguments& m) const {
    const auto name_a = [&] { return is_turned ? "b" : "a"; };
    const auto name_b = [&] { return is_turned ? "a" : "b"; };
    const auto name_c = [] { return "c"; };
    if (m.beta != T{0} && !layouts.reads_c)
      throw Error::of_argument("beta", "is not 0: the plan was made with reads_c = false");
    relayout::check_arrays(m.c, needed[2], name_c);
    if (m.alpha == T{0}) return;
    relayout::check_arrays(m.a, needed[0], name_a);
    relayout::check_arrays(m.b, needed[1], name_b);
    if (relayout::overlap(m.a, needed[0], m.c, needed[2]))
      throw Error::of_argument("c", std::string("overlaps ").append(name_a()));
    if (relayout::overlap(m.b, needed[1], m.c, needed[2]))
      throw Error::of_argument("c", std::string("overlaps ").append(name_b()));
  }

  void fetch_operands(const Arguments& m) {
    const LocalArray<S> to_a{a.copy.data(), a.box.cols.size()},
        to_b{b.copy.data(), b.box.cols.size()};
    const std::array memory{Memory<S>{m.a, std::span(&to_a, 1)},
                            Memory<S>{m.b, std::span(&to_b, 1)}};
    fetch->template execute<S>(memory);
  }
  /// Copies c to where it is accumulated.
  void start_from_c(const Arguments& m) {
    for (std::size_t k = 0; k < c_read.size(); ++k) c_read[k] = {m.c[k].data, m.c[k].ld};
    const LocalArray<T> to{apart.data(), mine.n.size()};
    const Memory<T> memory{c_read, std::span(&to, 1)};
    start->template execute<T>(std::span(&memory, 1));
  }
  void put_result(const Arguments& m, const T* data, index_t ld) {
    const LocalArray<const T> from{data, ld};
    const Memory<T> memory{std::span(&from, 1), m.c};
    put->template execute<T>(std::span(&memory, 1));
  }
  [[nodiscard]] MatrixView<T> block_of_c(const Arguments& m, const Box& box) const {
    return view_at(*in_c, m.c[static_cast<std::size_t>(in_c->array)], box, StorageOrder::row_major);
  }

  void compute(const Arguments& m) {
    if (values.empty()) return;
    if (!put && !combination) values.front().view = block_of_c(m, {mine.m, mine.n});
    tessera::matmul::Gemm<T, S> all{m.alpha, {}, a.op, {}, b.op, m.beta, {}};
    if (m.alpha == T{0}) {  // neither a nor b may be there
      all.op_a = all.op_b = Op::none;
    } else {
      all.a = a.view(m.a);
      all.b = b.view(m.b);
    }
    for (const NodeValue<T>& value : values) {
      all.c = value.view;
      if (m.alpha != T{0}) {
        compute_node(all, {plan.shape.leaves, value.node, plan.k_range(mine).begin}, method,
                     phases);
        continue;
      }
      tessera::matmul::Gemm<T, S> scaled = all;
      scaled.a = {nullptr, value.view.rows, 0, 0};
      scaled.b = {nullptr, 0, value.view.cols, value.view.cols};
      if (value.node.first != 0) scaled.beta = T{0};
      matmul::compute(scaled, method, phases, [&] { cache_oblivious(scaled); });
    }
  }

  void execute(const Arguments& m) {
    {
      const mpi::PhaseScope scope(phases, "exchange");
      if (fetch && m.alpha != T{0}) fetch_operands(m);
      if (start && m.beta != T{0}) start_from_c(m);
    }
    {
      const mpi::PhaseScope scope(phases, "compute");
      compute(m);
    }
    const mpi::PhaseScope scope(phases, "exchange");
    if (combination) {
      const MatrixView<T> sum = put ? matrix_view(sums.data(), home.rows.size(), home.cols.size())
                                : in_c ? block_of_c(m, home)
                                       : MatrixView<T>{};
      combination->execute(sum, phases);
      if (put) put_result(m, sums.data(), home.cols.size());
    } else if (put) {
      put_result(m, apart.data(), mine.n.size());
    }
  }

  /// Calls f(relayout) for those that there are.
  template <class F>
  void each_relayout(const F& f) const {
    for (const auto* each : {&fetch, &start, &put})
      if (*each) f(**each);
  }

  mpi::Communicator comm;
  bool is_turned;  ///< c is in columns: the transposed product is computed
  ProductLayouts layouts;
  Method method;
  Plan plan;
  Cuboid mine;
  PlannedOperand<S> a, b;
  std::array<std::vector<Box>, 3> needed;  ///< of a, b and c on this rank, as they are stored
  std::vector<LocalArray<const T>> c_read;
  Found in_c;  ///< where this rank accumulates or sums in c
  Box home;    ///< of this rank's sums where k is split
  machine::Buffer<T> apart, sums;
  std::vector<NodeValue<T>> values;
  std::optional<Combination<T>> combination;
  std::optional<relayout::Plan> fetch, start, put;
  mpi::Phases phases;
};

template <class T, class S>
MultiplyPlan<T, S>::MultiplyPlan(const mpi::Communicator& comm, const ProductLayouts& layouts,
                                 const Method& method) {
  require_argument(!comm.empty(), "comm", "is an empty communicator");
  check_plan_method<T, S>(comm, method);
  check_layouts<T>(comm, layouts);  // names a and b as the caller does
  state_ = std::make_unique<State>(comm, layouts, method);
}
template <class T, class S>
MultiplyPlan<T, S>::MultiplyPlan(MultiplyPlan&&) noexcept = default;
template <class T, class S>
MultiplyPlan<T, S>& MultiplyPlan<T, S>::operator=(MultiplyPlan&&) noexcept = default;
template <class T, class S>
MultiplyPlan<T, S>::~MultiplyPlan() = default;

template <class T, class S>
void MultiplyPlan<T, S>::check(const ProductMemory<T, S>& memory) const {
  state_->check(state_->memory_of(memory));
}

template <class T, class S>
void MultiplyPlan<T, S>::execute(const ProductMemory<T, S>& memory) {
  const ProductMemory<T, S> m = state_->memory_of(memory);
  state_->check(m);
  state_->execute(m);
}

template <class T, class S>
index_t MultiplyPlan<T, S>::workspace_bytes(const mpi::Communicator& comm,
                                            const ProductLayouts& layouts, const Method& method) {
  const machine::WithoutMemory scope;
  return MultiplyPlan(comm, layouts, method).workspace_bytes();
}

template <class T, class S>
index_t MultiplyPlan<T, S>::workspace_bytes() const {
  const State& s = *state_;
  index_t elements = s.apart.size() + s.sums.size();
  for (const NodeValue<T>& value : s.values) elements += value.storage.size();
  index_t bytes = elements * static_cast<index_t>(sizeof(T)) +
                  (s.a.copy.size() + s.b.copy.size()) * static_cast<index_t>(sizeof(S));
  s.each_relayout([&](const relayout::Plan& x) { bytes += x.buffer_bytes(); });
  return bytes + (s.combination ? s.combination->buffer_bytes() : 0);
}

template <class T, class S>
index_t MultiplyPlan<T, S>::sent_bytes() const {
  const State& s = *state_;
  return (s.fetch ? s.fetch->sent_bytes() : 0) + (s.put ? s.put->sent_bytes() : 0) +
         (s.combination ? s.combination->sent_bytes() : 0);
}
template <class T, class S>
index_t MultiplyPlan<T, S>::received_bytes() const {
  const State& s = *state_;
  return (s.fetch ? s.fetch->received_bytes() : 0) + (s.put ? s.put->received_bytes() : 0) +
         (s.combination ? s.combination->received_bytes() : 0);
}

template <class T, class S>
const mpi::Phases& MultiplyPlan<T, S>::phases() const {
  return state_->phases;
}

template class MultiplyPlan<float>;
template class MultiplyPlan<double>;
template class MultiplyPlan<Complex<float>>;
template class MultiplyPlan<Complex<double>>;
template class MultiplyPlan<float, Half>;
template class MultiplyPlan<float, BFloat16>;

}  // namespace tessera::inline v1::dist::matmul
