#pragma once
// C swept in columns. A template, so that it runs on plain and on traced elements.

#include <algorithm>

#include "kernels/matmul/operand.hpp"
#include "kernels/matmul/sweep.hpp"
#include "kernels/matmul/textbook.hpp"

namespace tessera::matmul {

template <class T>
void column(const Gemm<T>& g, const Tuning& tuning) {
  if (only_scales(g)) return scale(g.c, g.beta);
  const auto a = operand(g.a, g.op_a);
  const auto b = operand(g.b, g.op_b);
  const index_t k = g.k();
  const index_t width = std::max<index_t>(1, tuning.column_width);
  for (index_t step = 0; step < g.m() * g.n(); ++step) {
    const auto [i, j] = column_cell(step, g.m(), g.n(), width);
    T sum{0};
    for (index_t p = 0; p < k; ++p) sum += a(i, p) * b(p, j);
    put(g.c(i, j), g.alpha, sum, g.beta);
  }
}

}  // namespace tessera::matmul
