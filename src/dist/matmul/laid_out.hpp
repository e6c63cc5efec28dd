#pragma once
// The product of matrices in any distributions, in the caller's memory.

#include "dist/matmul/multiply.hpp"
#include "dist/relayout/relayout.hpp"

namespace tessera::inline v1::dist::matmul {

/// A matrix in the caller's memory: one local array on this rank.
template <class T>
struct LaidOut {
  layout::Distribution distribution;
  relayout::LocalArray<T> local;
  relayout::StorageOrder order = relayout::StorageOrder::row_major;
};

/// c = alpha op(a) op(b) + beta c on all ranks of comm; beta == 0 never reads c, alpha == 0 reads
/// neither a nor b. c overlaps neither. Elements of a and b are of type S: T, or halves where T is
/// float, as in Gemm.
template <class T, class S = T>
struct LaidOutProduct {
  Factor<T> alpha = Factor<T>{1};
  LaidOut<const S> a;
  Op op_a = Op::none;
  LaidOut<const S> b;
  Op op_b = Op::none;
  Factor<T> beta = Factor<T>{0};
  LaidOut<T> c;
};

/// Multiplies by a recursive plan: each rank receives its part of the operands directly from where
/// the caller has them, in one message a pair of ranks, and sends its part of the result to where
/// it belongs. A single rank multiplies in the caller's memory. T is float, double, Complex of
/// these, Half or BFloat16, under any name; of the method, kernel, tuning, threads and weights are
/// used. Throws Error(usage), naming the argument, on all ranks if shapes or ranks do not match,
/// and on one if its memory does not fit. Collective.
template <class T, class S = T>
void multiply(const mpi::Communicator& comm, const LaidOutProduct<T, S>& product,
              const Method& method, mpi::Phases& phases);
/// Returns the same matrix of Tessera's numbers.
template <class T,
          class O = std::conditional_t<std::is_const_v<T>, const Own<std::remove_const_t<T>>,
                                       Own<std::remove_const_t<T>>>>
[[nodiscard]] LaidOut<O> own_laid_out(const LaidOut<T>& x) {
  return {x.distribution, {reinterpret_cast<O*>(x.local.data), x.local.ld}, x.order};
}
/// Multiplies matrices of numbers under others' names, as std::complex.
template <class T, class S = T>
requires is_foreign<S>
void multiply(const mpi::Communicator& comm, const LaidOutProduct<T, S>& product,
              const Method& method, mpi::Phases& phases) {
  multiply(comm,
           LaidOutProduct<Own<T>, Own<S>>{.alpha = own(product.alpha),
                                          .a = own_laid_out(product.a),
                                          .op_a = product.op_a,
                                          .b = own_laid_out(product.b),
                                          .op_b = product.op_b,
                                          .beta = own(product.beta),
                                          .c = own_laid_out(product.c)},
           method, phases);
}
/// Multiplies without phases.
template <class T, class S = T>
void multiply(const mpi::Communicator& comm, const LaidOutProduct<T, S>& product,
              const Method& method = {}) {
  mpi::Phases unused;
  multiply(comm, product, method, unused);
}

}  // namespace tessera::inline v1::dist::matmul
