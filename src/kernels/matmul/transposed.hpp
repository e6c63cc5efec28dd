#pragma once
// Dot products of rows, after transposing B. A template for plain and traced elements.

#include "base/work_done.hpp"
#include "kernels/matmul/rows.hpp"
#include "kernels/matmul/textbook.hpp"

namespace tessera::inline v1::matmul {

template <class T>
void transposed(const Gemm<T>& g, const Tuning&) {
  if (only_scales(g) || g.c.empty()) return scale(g.c, g.beta);
  const index_t k = g.k();
  const Rows a(operand(g.a, g.op_a), g.m(), k);
  const Rows b(flipped(operand(g.b, g.op_b)), g.n(), k);
  for (index_t i = 0; i < g.m(); ++i) {
    for (index_t j = 0; j < g.n(); ++j) {
      T sum{0};
      for (index_t p = 0; p < k; ++p) sum += a[i][p] * b[j][p];
      put(g.c(i, j), g.alpha, sum, g.beta);
    }
    count_multiplied(g.n() * k);
  }
}

}  // namespace tessera::inline v1::matmul
