#pragma once
// The triple loop i, j, p: 2 m n k flops. A template for plain and traced elements.

#include "base/work_done.hpp"
#include "kernels/matmul/operand.hpp"
#include "kernels/matmul/textbook.hpp"

namespace tessera::inline v1::matmul {

template <class T>
void naive(const Gemm<T>& g, const Tuning&) {
  if (only_scales(g)) return scale(g.c, g.beta);
  const auto a = operand(g.a, g.op_a);
  const auto b = operand(g.b, g.op_b);
  const index_t k = g.k();
  for (index_t i = 0; i < g.m(); ++i) {
    for (index_t j = 0; j < g.n(); ++j) {
      T sum{0};
      for (index_t p = 0; p < k; ++p) sum += a(i, p) * b(p, j);
      put(g.c(i, j), g.alpha, sum, g.beta);
    }
    count_multiplied(g.n() * k);
  }
}

}  // namespace tessera::inline v1::matmul
