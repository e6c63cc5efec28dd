// Products of a matrix with a few vectors (Freivalds 1977) on tasks; complex matrices as real ones.
// 2 m k flops per vector.

#include "kernels/matmul/checksum.hpp"

#include <algorithm>
#include <vector>

#include "kernels/matmul/checksum_leaf.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::matmul {
namespace {

constexpr index_t piece = 32768;  // elements per task: some 10 us at memory bandwidth
constexpr index_t column_block =
    512;  // y and its bound for 2 vectors: 16 KiB, cached while the rows are swept

}  // namespace

template <class T>
void multiply_vectors(MatrixView<const T> a, Op op, const Vectors& vectors) {
  TESSERA_EXPECTS(vectors.x.rows >= 1 && vectors.x.rows <= max_vectors);
  TESSERA_EXPECTS(vectors.bound.rows == 0 || vectors.bound.rows == vectors.x.rows);
  if (a.empty()) return;
  const ChecksumKernels<T>& leaf = checksum_kernels<T>(machine::isa());
  const auto part = [&](index_t begin, index_t end) {
    return Vectors{vectors.x, vectors.abs_x, vectors.y.cols_range(begin, end - begin),
                   vectors.bound.cols_range(begin, end - begin)};
  };
  if (op == Op::none) {
    machine::parallel_for(0, a.rows, std::max<index_t>(1, piece / a.cols),
                          [&](index_t begin, index_t end) {
                            leaf.rows(a.rows_range(begin, end - begin), part(begin, end));
                          });
  } else {
    machine::parallel_for(0, a.cols, column_block, [&](index_t begin, index_t end) {
      leaf.columns(a.cols_range(begin, end - begin), part(begin, end));
    });
  }
}

namespace {

using Rows = std::vector<double>;

MatrixView<double> view_of(Rows& rows, index_t count) {
  return matrix_view(rows.data(), count,
                     count == 0 ? 0 : static_cast<index_t>(rows.size()) / count);
}
Rows zeros(index_t count, index_t length) { return Rows(static_cast<std::size_t>(count * length)); }

/// Expands vectors for the rows of a complex matrix read as a real one with twice the columns: a
/// row is re im re im ..., so its product with (re, -im, ...) is the real part and with (im, re,
/// ...) the imaginary part.
Rows for_rows(MatrixView<const double> x, double sign) {
  Rows turned = zeros(x.rows, 2 * x.cols);
  const auto to = view_of(turned, x.rows);
  for (index_t v = 0; v < x.rows; v += 2) {
    for (index_t p = 0; p < x.cols; ++p) {
      to(v, 2 * p) = to(v + 1, 2 * p + 1) = x(v, p);
      to(v, 2 * p + 1) = sign * x(v + 1, p);
      to(v + 1, 2 * p) = x(v + 1, p);
    }
  }
  return turned;
}

/// Adds to y the results of the columns of such a real matrix, which alternate between real and
/// imaginary parts.
void add_columns(MatrixView<const double> got, double sign, bool conjugated, MatrixView<double> y) {
  const double conj = conjugated ? sign : 1;  // factor of the imaginary parts
  for (index_t v = 0; v < y.rows; v += 2) {
    for (index_t i = 0; i < y.cols; ++i) {
      y(v, i) += got(v, 2 * i) + sign * conj * got(v + 1, 2 * i + 1);
      y(v + 1, i) += conj * got(v, 2 * i + 1) + got(v + 1, 2 * i);
    }
  }
}

}  // namespace

template <class T>
requires is_complex<T>
void multiply_vectors(MatrixView<const T> a, Op op, const Vectors& w) {
  TESSERA_EXPECTS(w.x.rows % 2 == 0 && (w.bound.rows == 0 || w.bound.rows == w.x.rows));
  const MatrixView<const Real<T>> parts{reinterpret_cast<const Real<T>*>(a.data), a.rows,
                                        2 * a.cols, 2 * a.ld};
  if (op == Op::none) {
    Rows x = for_rows(w.x, -1), abs_x = for_rows(w.abs_x, 1);
    return multiply_vectors<Real<T>>(
        parts, op, {view_of(x, w.x.rows), view_of(abs_x, w.abs_x.rows), w.y, w.bound});
  }
  Rows y = zeros(w.x.rows, parts.cols), bound = zeros(w.bound.rows, parts.cols);
  multiply_vectors<Real<T>>(parts, Op::transpose,
                            {w.x, w.abs_x, view_of(y, w.x.rows), view_of(bound, w.bound.rows)});
  add_columns(view_of(y, w.x.rows), -1, op == Op::hermitian, w.y);
  add_columns(view_of(bound, w.bound.rows), 1, op == Op::hermitian, w.bound);
}

template void multiply_vectors(MatrixView<const float>, Op, const Vectors&);
template void multiply_vectors(MatrixView<const double>, Op, const Vectors&);
template void multiply_vectors(MatrixView<const Complex<float>>, Op, const Vectors&);
template void multiply_vectors(MatrixView<const Complex<double>>, Op, const Vectors&);

}  // namespace tessera::inline v1::matmul
