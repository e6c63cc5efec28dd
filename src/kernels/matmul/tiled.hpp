#pragma once
// Blocking by square tiles (Lam et al. 1991). A template for plain and traced elements.

#include <algorithm>

#include "base/work_done.hpp"
#include "kernels/matmul/operand.hpp"
#include "kernels/matmul/textbook.hpp"

namespace tessera::inline v1::matmul {
/// Computes c[0:m, 0:n] += alpha * a[0:m, 0:k] * b[0:k, 0:n], one tile of each.
template <class T>
void multiply_tile(T alpha, Operand<T> a, Operand<T> b, MatrixView<T> c, index_t k) {
  for (index_t i = 0; i < c.rows; ++i) {
    for (index_t j = 0; j < c.cols; ++j) {
      T sum{0};
      for (index_t p = 0; p < k; ++p) sum += a(i, p) * b(p, j);
      c(i, j) += scaled(alpha, sum);
    }
  }
}

template <class T>
void tiled(const Gemm<T>& g, const Tuning& tuning) {
  scale(g.c, g.beta);
  if (only_scales(g)) return;
  const auto a = operand(g.a, g.op_a);
  const auto b = operand(g.b, g.op_b);
  const index_t k = g.k();
  const index_t tile = std::max<index_t>(1, tuning.tile);
  for (index_t i = 0; i < g.m(); i += tile) {
    for (index_t j = 0; j < g.n(); j += tile) {
      const auto c = g.c.block(i, j, std::min(tile, g.m() - i), std::min(tile, g.n() - j));
      for (index_t p = 0; p < k; p += tile)
        multiply_tile(g.alpha, a.at(i, p), b.at(p, j), c, std::min(tile, k - p));
    }
    count_multiplied(std::min(tile, g.m() - i) * g.n() * k);
  }
}

}  // namespace tessera::inline v1::matmul
