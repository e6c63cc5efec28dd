#pragma once
// Product by cells of C in column sweeps (width set by the tuning). 2 m n k flops. A template for
// plain and traced elements.

#include <algorithm>

#include "base/work_done.hpp"
#include "kernels/matmul/operand.hpp"
#include "kernels/matmul/sweep.hpp"
#include "kernels/matmul/textbook.hpp"

namespace tessera::inline v1::matmul {

/// Computes the textbook product in the order in which `walk` visits the cells of C.
template <Walk walk, class T>
void product_by_cells(const Gemm<T>& g, index_t width) {
  if (only_scales(g)) return scale(g.c, g.beta);
  const auto a = operand(g.a, g.op_a);
  const auto b = operand(g.b, g.op_b);
  const index_t k = g.k();
  for (index_t row = 0; row < g.m(); ++row) {
    for (index_t step = row * g.n(); step < (row + 1) * g.n(); ++step) {
      const auto [i, j] = cell_of(walk, step, g.m(), g.n(), width);
      T sum{0};
      for (index_t p = 0; p < k; ++p) sum += a(i, p) * b(p, j);
      put(g.c(i, j), g.alpha, sum, g.beta);
    }
    count_multiplied(g.n() * k);
  }
}

template <class T>
void column(const Gemm<T>& g, const Tuning& tuning) {
  product_by_cells<Walk::column>(g, std::max<index_t>(1, tuning.column_width));
}

}  // namespace tessera::inline v1::matmul
