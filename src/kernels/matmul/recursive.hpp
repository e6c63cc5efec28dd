#pragma once
// The cache-oblivious recursion of the theorem (Frigo et al. 1999), without packing. A template for
// plain and traced elements.

#include <algorithm>

#include "base/instrument.hpp"
#include "base/work_done.hpp"
#include "kernels/matmul/tiled.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::matmul {

inline constexpr index_t least_task = index_t{1} << 18;  // products: 0.1 ms, a hundred times the
                                                         // cost of a task

/// Computes c[0:m, 0:n] += alpha * a[0:m, 0:k] * b[0:k, 0:n] by halving the largest of m, n, k down
/// to leaf; halves of m and n fork if they are large enough, those of k run in sequence.
template <class T>
void multiply_halves(T alpha, Operand<T> a, Operand<T> b, MatrixView<T> c, index_t k,
                     index_t leaf) {
  [[maybe_unused]] const Subproblem<T> here;
  const index_t m = c.rows, n = c.cols;
  if (std::max({m, n, k}) <= leaf) return multiply_tile(alpha, a, b, c, k);
  const auto count = [whole = m * n * k](index_t part) {
    if (whole >= counted_products && part < counted_products) count_multiplied(part);
  };
  if (k > m && k > n) {
    const index_t half = k / 2;
    multiply_halves(alpha, a, b, c, half, leaf);
    count(m * n * half);
    multiply_halves(alpha, a.at(0, half), b.at(half, 0), c, k - half, leaf);
    return count(m * n * (k - half));
  }
  const bool rows = m >= n;
  const index_t half = (rows ? m : n) / 2;
  const auto first = [=] {
    multiply_halves(alpha, a, b, rows ? c.rows_range(0, half) : c.cols_range(0, half), k, leaf);
    count((rows ? half * n : m * half) * k);
  };
  const auto second = [=] {
    rows ? multiply_halves(alpha, a.at(half, 0), b, c.rows_range(half, m - half), k, leaf)
         : multiply_halves(alpha, a, b.at(0, half), c.cols_range(half, n - half), k, leaf);
    count((rows ? (m - half) * n : m * (n - half)) * k);
  };
  if (m * n * k < least_task) {
    first();
    second();
  } else {
    machine::fork_join(first, second);
  }
}

template <class T>
void recursive(const Gemm<T>& g, const Tuning& tuning) {
  scale(g.c, g.beta);
  if (only_scales(g) || g.c.empty()) return;
  const index_t leaf = std::max<index_t>(1, tuning.tile);
  const int threads = g.m() * g.n() * g.k() < least_task ? 1 : machine::default_threads();
  machine::parallel(threads, [&] {
    multiply_halves(g.alpha, operand(g.a, g.op_a), operand(g.b, g.op_b), g.c, g.k(), leaf);
  });
}

}  // namespace tessera::inline v1::matmul
