#pragma once
// Declarations shared by the distributed algorithms; private to this folder.

#include <vector>

#include "dist/matmul/multiply.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "machine/contention.hpp"
#include "machine/fork_join.hpp"
#include "mpi/transfer.hpp"

namespace tessera::inline v1::dist::matmul {

/// Throws Error(usage) naming the argument unless the method can be used on the ranks of comm.
void require_method(const mpi::Communicator& comm, const Method& method);

/// Throws Error(usage) naming method.kernel unless it multiplies operands of S to a result of T.
template <class T, class S>
void require_multiplies(const Method& method) {
  const tessera::matmul::Variant* const kernel = method.kernel;
  require_argument(kernel == nullptr || kernel->multiplies<T, S>(), "method.kernel", [&] {
    if (is_complex<T>) return std::string("does not multiply complex numbers");
    return "is " + std::string(kernel->name) + ": must be cache_oblivious for products of " +
           std::string(name_of_half<S>);
  });
}

/// An operand's box on this rank: a view of the home block if the layouts agree, of shared memory
/// if the ranks share it, otherwise of a copy fetched from the homes.
template <class T>
struct Fetched {
  machine::Buffer<T> copy;
  MatrixView<const T> view;
};

template <class T>
[[nodiscard]] Fetched<T> fetch(const mpi::Communicator& comm, const DistributedMatrix<T>& matrix,
                               const layout::MatrixLayout& need) {
  if (need == matrix.layout()) return {{}, matrix.view()};
  const layout::Box& box = need.of(comm.rank());
  if (matrix.shared())
    return {{},
            matrix.whole().block(box.rows.begin, box.cols.begin, box.rows.size(), box.cols.size())};
  Fetched<T> result{machine::Buffer<T>(box.area()), {}};
  const MatrixView<T> view = matrix_view(result.copy.data(), box.rows.size(), box.cols.size());
  mpi::redistribute<T>(comm, matrix.layout(), matrix.view(), need, view);
  result.view = view;
  return result;
}

/// Returns the slice [begin, begin + size) along k of a stored operand. k_is_cols_when is the op
/// for which k runs along its columns: none for a, transpose for b.
template <class T>
[[nodiscard]] MatrixView<const T> along_k(MatrixView<const T> operand, Op op, Op k_is_cols_when,
                                          index_t begin, index_t size) {
  return turns(op) == turns(k_is_cols_when) ? operand.cols_range(begin, size)
                                            : operand.rows_range(begin, size);
}

/// Runs the method's kernel on one piece of this rank. For cache_oblivious runs `fixed_order()`
/// instead, on a team of the method's threads; the other kernels take no team (one thread, threads
/// that they start, or the device, whose phases are added).
template <class T, class S, class FixedOrder>
void compute(const tessera::matmul::Gemm<T, S>& gemm, const Method& method, mpi::Phases& phases,
             const FixedOrder& fixed_order) {
  const mpi::Computing computing;
  if (method.kernel->name == "cache_oblivious") {
    // Where others have the cores, a thread may wake up milliseconds later.
    const int threads = machine::is_contended() ? tessera::matmul::useful_threads<T>(
                                                      gemm.m(), gemm.n(), gemm.k(), method.threads)
                                                : method.threads;
    machine::parallel(threads, fixed_order);
  } else {
    const machine::DefaultThreads scope(method.threads);
    (*method.kernel)(gemm, method.tuning);
  }
  mpi::add_device_phases(phases);
}

/// Returns the slices of k in which to execute a plan: one if no operand is sent.
[[nodiscard]] inline Slices slices_of(const Method& method, const Plan& plan, bool shared) {
  return slices_of_k(plan, shared || plan.cuboids.size() == 1 ? 1 : method.slices);
}

/// The value of one node of the summation tree on this rank.
template <class T>
struct NodeValue {
  Subtree node;
  machine::Buffer<T> storage;  ///< empty if the value is accumulated in c's home
  MatrixView<T> view;
};

/// A node of the summation tree, and where k begins in the operands of its rank.
struct PlacedNode {
  const Leaves& leaves;
  Subtree node;
  index_t operands_begin = 0;
};

/// Computes the value of a node in all.c; all.a and all.b are the operands of this rank.
template <class T, class S>
void compute_node(const tessera::matmul::Gemm<T, S>& all, const PlacedNode& x, const Method& method,
                  mpi::Phases& phases) {
  const index_t begin = x.leaves.begin(x.node.first),
                size = x.leaves.begin(x.node.first + x.node.count) - begin;
  const index_t from = begin - x.operands_begin;
  const tessera::matmul::Gemm<T, S> gemm{
      all.alpha, along_k(all.a, all.op_a, Op::none, from, size),
      all.op_a,  along_k(all.b, all.op_b, Op::transpose, from, size),
      all.op_b,  x.node.first == 0 ? all.beta : T{0},
      all.c};
  compute(gemm, method, phases, [&] { subtree(gemm, x.leaves, x.node); });
}

/// Returns the nodes of the cuboid `mine` with memory for their values: `first`, and for the others
/// memory of their own.
template <class T>
std::vector<NodeValue<T>> room_for_nodes(const Plan& plan, const Cuboid& mine,
                                         MatrixView<T> first) {
  std::vector<NodeValue<T>> values;
  for (const Subtree node : plan.nodes(mine)) {
    machine::Buffer<T> storage(values.empty() ? 0 : first.rows * first.cols);
    const auto at = values.empty() ? first : matrix_view(storage.data(), first.rows, first.cols);
    values.push_back({node, std::move(storage), at});
  }
  return values;
}

/// Returns the values of the nodes of the cuboid `mine`, the first accumulated in all.c; all.a and
/// all.b are its operands, along all of its k.
template <class T, class S>
std::vector<NodeValue<T>> compute_nodes(tessera::matmul::Gemm<T, S> all, const Method& method,
                                        const Plan& plan, const Cuboid& mine, mpi::Phases& phases) {
  std::vector<NodeValue<T>> values = room_for_nodes(plan, mine, all.c);
  for (const NodeValue<T>& value : values) {
    all.c = value.view;
    compute_node(all, {plan.shape.leaves, value.node, plan.k_range(mine).begin}, method, phases);
  }
  return values;
}

/// Computes c as the sum, along the summation tree, of the values that the ranks of the plan
/// computed; `mine` are this rank's nodes over its box of c_layout(plan). Collective.
template <class T>
void combine_nodes(const mpi::Communicator& comm, const Plan& plan,
                   const std::vector<NodeValue<T>>& mine, DistributedMatrix<T>& c,
                   mpi::Phases& phases);

/// Parts in which an operand that stays for several rounds is received: packing buffers are that
/// much smaller.
inline constexpr index_t strips_of_kept = 8;

/// One round of the recursive algorithm.
template <class T, class S = T>
struct Round {
  const mpi::Communicator& comm;
  const Product<T, S>& product;
  const Method& method;
  const Plan& plan;
};

/// Returns the values of this rank's nodes, the first accumulated in `first`. Fetches the operands
/// in slices of k with double buffering: the next slice is received while the current one is
/// multiplied. Collective.
template <class T, class S>
std::vector<NodeValue<T>> compute_in_slices(const Round<T, S>& round, const Slices& slices,
                                            MatrixView<T> first, mpi::Phases& phases);

}  // namespace tessera::inline v1::dist::matmul
