#pragma once
// What the device kernels of matmul share.

#include "kernels/matmul/cuda.hpp"
#include "machine/cuda.hpp"

namespace tessera::matmul {

/// op(x)(i, p) of a stored operand.
template <Op op, class T>
__device__ __forceinline__ T element(const MatrixView<const T>& x, index_t i, index_t p) {
  return op == Op::none ? x.data[i * x.ld + p] : x.data[p * x.ld + i];
}

/// c = alpha * sum + beta * c, which is not read when beta == 0.
template <class T>
__device__ __forceinline__ void store(T& c, T alpha, T sum, T beta) {
  c = beta == T{0} ? alpha * sum : alpha * sum + beta * c;
}

/// f(op_a, op_b) with both as compile-time constants.
template <class T, class F>
void dispatch_ops(const Gemm<T>& g, const F& f) {
  using None = std::integral_constant<Op, Op::none>;
  using Turned = std::integral_constant<Op, Op::transpose>;
  if (g.op_a == Op::none && g.op_b == Op::none) return f(None{}, None{});
  if (g.op_a == Op::none) return f(None{}, Turned{});
  if (g.op_b == Op::none) return f(Turned{}, None{});
  return f(Turned{}, Turned{});
}

inline unsigned blocks_for(index_t items, index_t per_block) {
  return narrow<unsigned>(ceil_div(items, per_block));
}

}  // namespace tessera::matmul
