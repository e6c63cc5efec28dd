#include <algorithm>

#include "dist/matmul/algorithms.hpp"
#include "kernels/matmul/cache_oblivious.hpp"

namespace tessera::dist::matmul {
namespace {

using tessera::matmul::Gemm;

/// A place for every node of this rank's cuboid.
template <class T>
std::vector<NodeValue<T>> allocate_values(const Plan& plan, const Cuboid& mine, MatrixView<T> home,
                                          bool at_home) {
  std::vector<NodeValue<T>> values;
  for (const Subtree node : plan.nodes(mine)) {
    if (at_home) {
      values.push_back({node, {}, home});
      continue;
    }
    machine::Buffer<T> storage(mine.m.size() * mine.n.size());
    const auto view = matrix_view(storage.data(), mine.m.size(), mine.n.size());
    values.push_back({node, std::move(storage), view});
  }
  return values;
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

}  // namespace

template <class T>
void recursive(const mpi::Communicator& comm, const Product<T>& product, const Method& method,
               mpi::Phases& phases) {
  const Plan plan = recursive_plan({product.m(), product.n(), tessera::matmul::leaves<T>(product.k())},
                                   comm.size(), method.weights);
  const Cuboid& mine = plan.of(comm.rank());
  const bool at_home = grows_at_home(plan, product.c.layout());
  std::vector<NodeValue<T>> values = allocate_values(plan, mine, product.c.view(), at_home);
  Fetched<T> a, b;
  {
    const mpi::PhaseScope scope(phases, "exchange");
    const mpi::InFlight flight(phases, comm.size());
    a = fetch(comm, product.a, a_layout(plan, product.op_a));
    b = fetch(comm, product.b, b_layout(plan, product.op_b));
    if (product.beta != T{0} && !at_home) {
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
  if (!at_home) {
    const mpi::PhaseScope scope(phases, "exchange");
    combine_nodes(comm, plan, values, product.c, phases);
  }
}

template void recursive<float>(const mpi::Communicator&, const Product<float>&, const Method&, mpi::Phases&);
template void recursive<double>(const mpi::Communicator&, const Product<double>&, const Method&,
                                mpi::Phases&);
template void recursive<Complex<float>>(const mpi::Communicator&, const Product<Complex<float>>&,
                                        const Method&, mpi::Phases&);
template void recursive<Complex<double>>(const mpi::Communicator&, const Product<Complex<double>>&,
                                         const Method&, mpi::Phases&);

}  // namespace tessera::dist::matmul
