#pragma once
// Matrix times a few vectors, for the check of Freivalds (1977): C = A B holds iff C x = A (B x)
// for random x, up to a rounding error bounded by |A| (|B| |x|). One pass over the matrix serves
// all vectors, values and bounds; sums are in double for every element type. Call inside
// machine::parallel.

#include "kernels/matmul/gemm.hpp"

namespace tessera::inline v1::matmul {

inline constexpr index_t max_vectors = 2;

/// Operands of multiply_vectors. Vectors are stored in rows: x is (vectors, k) and y is (vectors,
/// m), with 1 to max_vectors vectors. Bounds have the same layout, a non-negative x, and either as
/// many vectors or none. Results are added to the rows of y and of its bound. A complex vector
/// takes two rows, for its real and its imaginary parts.
struct Vectors {
  MatrixView<const double> x;      ///< (v, k)
  MatrixView<const double> abs_x;  ///< (bounds, k)
  MatrixView<double> y;            ///< (v, m)
  MatrixView<double> bound;        ///< (bounds, m)
};

/// Computes y[v, 0:m] += op(a)[0:m, 0:k] x[v, 0:k] and bound[v, 0:m] += |op(a)|[0:m, 0:k] abs_x[v,
/// 0:k]; for complex a, every element is read as the real matrix (re, -im; im, re).
template <class T>
void multiply_vectors(MatrixView<const T> a, Op op, const Vectors& vectors);
template <class T>
requires is_complex<T>
void multiply_vectors(MatrixView<const T> a, Op op, const Vectors& vectors);

}  // namespace tessera::inline v1::matmul
