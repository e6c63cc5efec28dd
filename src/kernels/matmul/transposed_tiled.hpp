#pragma once
// Square tiles, after transposing B. A template for plain and traced elements.

#include <algorithm>

#include "base/work_done.hpp"
#include "kernels/matmul/rows.hpp"
#include "kernels/matmul/textbook.hpp"

namespace tessera::inline v1::matmul {

/// A part of the rows, from an element on.
template <class T>
struct RowsFrom {
  const Rows<T>& rows;
  index_t first, p0;
  const T* operator[](index_t i) const { return rows[first + i] + p0; }
};

/// Computes c[0:m, 0:n] += alpha * a[0:m, 0:k] * (b[0:n, 0:k] transposed).
template <class T>
void multiply_tile(T alpha, RowsFrom<T> a, RowsFrom<T> b, index_t k, MatrixView<T> c) {
  for (index_t i = 0; i < c.rows; ++i) {
    for (index_t j = 0; j < c.cols; ++j) {
      const T* const row = a[i];
      const T* const col = b[j];
      T sum{0};
      for (index_t p = 0; p < k; ++p) sum += row[p] * col[p];
      c(i, j) += scaled(alpha, sum);
    }
  }
}

template <class T>
void transposed_tiled(const Gemm<T>& g, const Tuning& tuning) {
  scale(g.c, g.beta);
  if (only_scales(g) || g.c.empty()) return;
  const index_t k = g.k();
  const Rows a(operand(g.a, g.op_a), g.m(), k);
  const Rows b(flipped(operand(g.b, g.op_b)), g.n(), k);
  const index_t tile = std::max<index_t>(1, tuning.tile);
  for (index_t i = 0; i < g.m(); i += tile) {
    for (index_t j = 0; j < g.n(); j += tile) {
      const auto c = g.c.block(i, j, std::min(tile, g.m() - i), std::min(tile, g.n() - j));
      for (index_t p = 0; p < k; p += tile)
        multiply_tile(g.alpha, RowsFrom<T>{a, i, p}, RowsFrom<T>{b, j, p}, std::min(tile, k - p),
                      c);
    }
    count_multiplied(std::min(tile, g.m() - i) * g.n() * k);
  }
}

}  // namespace tessera::inline v1::matmul
