// Products of halves: pieces of c are computed in float by the fast product and then rounded.

#include <algorithm>

#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/leaf.hpp"
#include "kernels/matmul/rounded.hpp"
#include "kernels/matmul/scratch.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::matmul {
namespace {

// The sums of a piece: 64 MiB of float, which a thread keeps. Of 4096 columns, so that packing,
// once a piece, costs a 2000th of the arithmetic.
constexpr index_t piece_sums = index_t{1} << 24, piece_columns = 4096;

/// Calls body(i) for the rows of a matrix of that many columns, shared by the team.
template <class Body>
void for_each_row(index_t rows, index_t cols, const Body& body) {
  constexpr index_t grain = 1 << 15;  // elements
  machine::parallel_for(0, rows, std::max<index_t>(1, grain / std::max<index_t>(1, cols)),
                        [&](index_t first, index_t last) {
                          for (index_t i = first; i < last; ++i) body(i);
                        });
}

template <class S>
void multiply_piece(const Gemm<S>& g, index_t i, index_t m, index_t j, index_t n) {
  const MatrixView<S> c = g.c.block(i, j, m, n);
  Scratch<float> sums(m * n);
  const auto sum = matrix_view(sums.data(), m, n);
  if (g.beta != 0) widen<S>(c, sum);
  cache_oblivious(
      Gemm<float, S>{.alpha = g.alpha,
                     .a = g.op_a == Op::none ? g.a.rows_range(i, m) : g.a.cols_range(i, m),
                     .op_a = g.op_a,
                     .b = g.op_b == Op::none ? g.b.cols_range(j, n) : g.b.rows_range(j, n),
                     .op_b = g.op_b,
                     .beta = g.beta,
                     .c = sum});
  narrow<S>(sum, c);
}

template <class S>
void multiply(const Gemm<S>& g) {
  if (g.c.empty()) return;
  const index_t columns = std::min(g.n(), piece_columns), rows = piece_sums / columns;
  for (index_t i = 0; i < g.m(); i += rows) {
    for (index_t j = 0; j < g.n(); j += columns)
      multiply_piece(g, i, std::min(rows, g.m() - i), j, std::min(columns, g.n() - j));
  }
}

}  // namespace

template <class S>
void widen(MatrixView<const S> from, MatrixView<float> to) {
  if (to.empty()) return;
  const HalfKernels<S>& convert = half_kernels<S>(machine::isa());
  for_each_row(to.rows, to.cols,
               [&](index_t i) { convert.widen(&from(i, 0), &to(i, 0), to.cols); });
}

template <class S>
void narrow(MatrixView<const float> from, MatrixView<S> to) {
  if (to.empty()) return;
  const HalfKernels<S>& convert = half_kernels<S>(machine::isa());
  for_each_row(to.rows, to.cols,
               [&](index_t i) { convert.narrow(&from(i, 0), &to(i, 0), to.cols); });
}

void cache_oblivious(const Gemm<Half>& g) { multiply(g); }
void cache_oblivious(const Gemm<BFloat16>& g) { multiply(g); }

template void widen(MatrixView<const Half>, MatrixView<float>);
template void widen(MatrixView<const BFloat16>, MatrixView<float>);
template void narrow(MatrixView<const float>, MatrixView<Half>);
template void narrow(MatrixView<const float>, MatrixView<BFloat16>);

}  // namespace tessera::inline v1::matmul
