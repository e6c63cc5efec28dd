#pragma once
// Functions shared by the device kernels of matmul.

#include "kernels/matmul/cuda.hpp"
#include "machine/cuda.hpp"

namespace tessera::inline v1::matmul {

/// Returns op(x)(i, p) of a stored operand.
template <Op op, class T>
__device__ __forceinline__ T element(const MatrixView<const T>& x, index_t i, index_t p) {
  return op == Op::none ? x.data[i * x.ld + p] : x.data[p * x.ld + i];
}

/// Computes c = alpha * sum + beta * c; does not read c when beta == 0.
template <class T>
__device__ __forceinline__ void store(T& c, T alpha, T sum, T beta) {
  c = beta == T{0} ? alpha * sum : alpha * sum + beta * c;
}

/// Calls f(op_a, op_b) with both ops as compile-time constants.
template <class Problem, class F>
void dispatch_ops(const Problem& g, const F& f) {
  using None = std::integral_constant<Op, Op::none>;
  using Turned = std::integral_constant<Op, Op::transpose>;
  if (g.op_a == Op::none && g.op_b == Op::none) return f(None{}, None{});
  if (g.op_a == Op::none) return f(None{}, Turned{});
  if (g.op_b == Op::none) return f(Turned{}, None{});
  return f(Turned{}, Turned{});
}

struct DeviceLimits {
  int multiprocessors = 0;
};
/// Returns the limits of the current device.
inline DeviceLimits device_limits() {
  using machine::cuda::attribute;
  return {attribute(cudaDevAttrMultiProcessorCount)};
}

/// Returns the fraction of the device's work that contributes to c when every multiprocessor
/// computes one tile of (m, n) after the other; tile parts outside c and idle multiprocessors in
/// the last round are lost.
template <class T>
double share_of_device(const MatrixView<T>& c, index_t m, index_t n, int multiprocessors) {
  const index_t tiles = ceil_div(c.rows, m) * ceil_div(c.cols, n);
  const index_t rounds = ceil_div(tiles, index_t{multiprocessors});
  return static_cast<double>(c.rows) * static_cast<double>(c.cols) /
         (static_cast<double>(rounds * multiprocessors) * static_cast<double>(m * n));
}

/// Returns the position of tile `number`. Tiles are visited in groups of eight rows of tiles, so
/// that concurrent tiles share operands in the second-level cache.
__device__ __forceinline__ int2 tile_number(int number, int rows, int cols) {
  constexpr int group = 8;
  const int per_group = group * cols;
  const int first = number / per_group * group, here = min(group, rows - first);
  const int within = number % per_group;
  return {first + within % here, within / here};
}

inline unsigned blocks_for(index_t items, index_t per_block) {
  return narrow<unsigned>(ceil_div(items, per_block));
}

}  // namespace tessera::inline v1::matmul
