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
/// neither a nor b. c overlaps neither.
template <class T>
struct LaidOutProduct {
  T alpha = T{1};
  LaidOut<const T> a;
  Op op_a = Op::none;
  LaidOut<const T> b;
  Op op_b = Op::none;
  T beta = T{0};
  LaidOut<T> c;
};

/// Multiplies by a recursive plan: each rank receives its part of the operands directly from where
/// the caller has them, in one message a pair of ranks, and sends its part of the result to where
/// it belongs. A single rank multiplies in the caller's memory. T is float, double or Complex of
/// these, or std::complex; of the method, kernel, tuning, threads and weights are used. Throws
/// Error(usage), naming the argument, on all ranks if shapes or ranks do not match, and on one if
/// its memory does not fit. Collective.
template <class T>
void multiply(const mpi::Communicator& comm, const LaidOutProduct<T>& product, const Method& method,
              mpi::Phases& phases);
/// Multiplies matrices of std::complex.
template <class T>
requires is_std_complex<T>
void multiply(const mpi::Communicator& comm, const LaidOutProduct<T>& product, const Method& method,
              mpi::Phases& phases) {
  using Own = Complex<typename T::value_type>;
  const auto operand = [](const LaidOut<const T>& x) {
    const auto* const data = reinterpret_cast<const Own*>(x.local.data);
    return LaidOut<const Own>{x.distribution, {data, x.local.ld}, x.order};
  };
  const LaidOut<T>& c = product.c;
  multiply(comm,
           LaidOutProduct<Own>{
               .alpha = {product.alpha.real(), product.alpha.imag()},
               .a = operand(product.a),
               .op_a = product.op_a,
               .b = operand(product.b),
               .op_b = product.op_b,
               .beta = {product.beta.real(), product.beta.imag()},
               .c = {c.distribution, {reinterpret_cast<Own*>(c.local.data), c.local.ld}, c.order}},
           method, phases);
}
/// Multiplies without phases.
template <class T>
void multiply(const mpi::Communicator& comm, const LaidOutProduct<T>& product,
              const Method& method = {}) {
  mpi::Phases unused;
  multiply(comm, product, method, unused);
}

}  // namespace tessera::inline v1::dist::matmul
