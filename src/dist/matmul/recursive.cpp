#include <optional>

#include "dist/matmul/algorithms.hpp"
#include "kernels/matmul/cache_oblivious.hpp"

namespace tessera::dist::matmul {
namespace {

using tessera::matmul::Gemm;

/// Where in c this rank's values can grow at once; empty where they cannot.
template <class T>
std::optional<MatrixView<T>> place_in_c(const Plan& plan, const Cuboid& mine, DistributedMatrix<T>& c) {
  const auto part = [&](MatrixView<T> view, index_t row, index_t col) {
    return view.block(mine.m.begin - row, mine.n.begin - col, mine.m.size(), mine.n.size());
  };
  if (grows_at_home(plan, c.layout()))
    return mine.empty() ? MatrixView<T>{} : part(c.view(), c.box().rows.begin, c.box().cols.begin);
  if (!c.shared() || splits_k(plan)) return std::nullopt;
  return part(c.whole(), 0, 0);
}

/// A place for every node of this rank's cuboid.
template <class T>
std::vector<NodeValue<T>> allocate_values(const Plan& plan, const Cuboid& mine,
                                          const std::optional<MatrixView<T>>& in_c) {
  std::vector<NodeValue<T>> values;
  for (const Subtree node : plan.nodes(mine)) {
    if (in_c) {
      values.push_back({node, {}, *in_c});
      continue;
    }
    machine::Buffer<T> storage(mine.m.size() * mine.n.size());
    const auto view = matrix_view(storage.data(), mine.m.size(), mine.n.size());
    values.push_back({node, std::move(storage), view});
  }
  return values;
}

/// Before: what the others wrote is there. After: they have read it. Nothing where no memory is shared.
template <class T>
void meet(const mpi::Communicator& comm, const Product<T>& product) {
  if (!product.a.shared() && !product.b.shared() && !product.c.shared()) return;
  const auto sync = [&] {
    product.a.sync();
    product.b.sync();
    product.c.sync();
  };
  sync();
  comm.barrier();
  sync();
}

template <class T>
void compute_node(const Product<T>& product, const Method& method, const Plan& plan, const Cuboid& mine,
                  const NodeValue<T>& value, MatrixView<const T> a, MatrixView<const T> b,
                  mpi::Phases& phases) {
  const index_t begin = plan.shape.leaves.begin(value.node.first);
  const index_t size = plan.shape.leaves.begin(value.node.first + value.node.count) - begin;
  const index_t from = begin - plan.k_range(mine).begin;
  const Gemm<T> gemm{product.alpha, along_k(a, product.op_a, Op::none, from, size),
                     product.op_a,  along_k(b, product.op_b, Op::transpose, from, size),
                     product.op_b,  value.node.first == 0 ? product.beta : T{0},
                     value.view};
  compute(gemm, method, phases, [&] { subtree(gemm, plan.shape.leaves, value.node); });
}

/// One round.
template <class T>
void follow(const mpi::Communicator& comm, const Product<T>& product, const Method& method, const Plan& plan,
            mpi::Phases& phases) {
  const Cuboid& mine = plan.of(comm.rank());
  const auto in_c = place_in_c(plan, mine, product.c);
  std::vector<NodeValue<T>> values = allocate_values(plan, mine, in_c);
  Fetched<T> a, b;
  {
    const mpi::PhaseScope scope(phases, "exchange");
    const mpi::InFlight flight(phases, comm.size());
    a = fetch(comm, product.a, a_layout(plan, product.op_a));
    b = fetch(comm, product.b, b_layout(plan, product.op_b));
    if (product.beta != T{0} && !in_c) {
      const bool starts = !mine.empty() && mine.leaves.begin == 0;
      mpi::redistribute<T>(comm, product.c.layout(), product.c.view(), c_start_layout(plan),
                           starts ? values.front().view : MatrixView<T>{});
    }
  }
  {
    const mpi::PhaseScope scope(phases, "compute");
    for (const NodeValue<T>& value : values)
      compute_node(product, method, plan, mine, value, a.view, b.view, phases);
  }
  a = {};  // room for the parts of C
  b = {};
  const mpi::PhaseScope scope(phases, "exchange");
  if (!in_c) combine_nodes(comm, plan, values, product.c, phases);
}

}  // namespace

template <class T>
void recursive(const mpi::Communicator& comm, const Product<T>& product, const Method& method,
               mpi::Phases& phases) {
  const bool shared = product.a.shared() && product.b.shared() && product.c.shared();
  const auto plans =
      choose_plans({product.m(), product.n(), tessera::matmul::leaves<T>(product.k())}, product.op_a,
                   product.op_b, {product.a.layout(), product.b.layout(), product.c.layout(), shared},
                   method.weights, method.flops_per_word, method.rounds);
  const auto meet_here = [&] {
    const mpi::PhaseScope scope(phases, "exchange");
    meet(comm, product);
  };
  meet_here();
  for (const Plan& plan : plans) follow(comm, product, method, plan, phases);
  meet_here();
}

template void recursive<float>(const mpi::Communicator&, const Product<float>&, const Method&, mpi::Phases&);
template void recursive<double>(const mpi::Communicator&, const Product<double>&, const Method&,
                                mpi::Phases&);
template void recursive<Complex<float>>(const mpi::Communicator&, const Product<Complex<float>>&,
                                        const Method&, mpi::Phases&);
template void recursive<Complex<double>>(const mpi::Communicator&, const Product<Complex<double>>&,
                                         const Method&, mpi::Phases&);

}  // namespace tessera::dist::matmul
