#pragma once
// Matrix times a few vectors, for the check of Freivalds (1977): C = A B holds iff C x = A (B x)
// for random x, up to a rounding error that |A| (|B| |x|) bounds. One pass over the matrix serves
// all vectors, values and bounds; the sums are in double for every element type. Run inside
// machine::parallel.

#include "kernels/matmul/gemm.hpp"

namespace tessera::matmul {

inline constexpr index_t max_vectors = 2;

/// Vectors lie in rows: x is (vectors, k), y is (vectors, m), with 1 to max_vectors of them; the
/// same for the bounds, whose x must not be negative, and of which there are as many, or none. Rows
/// of y and of its bound are added to. A complex vector takes two rows, its real parts and its
/// imaginary parts.
struct Vectors {
  MatrixView<const double> x;      ///< (v, k)
  MatrixView<const double> abs_x;  ///< (bounds, k)
  MatrixView<double> y;            ///< (v, m)
  MatrixView<double> bound;        ///< (bounds, m)
};

/// y[v, 0:m] += op(a)[0:m, 0:k] x[v, 0:k] and bound[v, 0:m] += |op(a)|[0:m, 0:k] abs_x[v, 0:k];
/// where a is complex, with every complex number taken for the real matrix (re, -im; im, re).
template <class T>
void multiply_vectors(MatrixView<const T> a, Op op, const Vectors& vectors);
template <class T>
requires is_complex<T>
void multiply_vectors(MatrixView<const T> a, Op op, const Vectors& vectors);

}  // namespace tessera::matmul
