#pragma once
// op(x) as strides, so that one inner loop serves both orientations.

#include "kernels/matmul/gemm.hpp"

namespace tessera::inline v1::matmul {

/// A strided view of op(x), whose element (i, p) is data[i * row + p * step].
template <class T>
struct Operand {
  const T* data;
  index_t row;
  index_t step;

  /// A reference, so that traced elements are loaded by the operator, in its order.
  TESSERA_HD const T& operator()(index_t i, index_t p) const { return data[i * row + p * step]; }
  [[nodiscard]] TESSERA_HD Operand at(index_t i, index_t p) const {
    return {data + i * row + p * step, row, step};
  }
};

template <class T>
struct Operand<Complex<T>> {
  const Complex<T>* data;
  index_t row;
  index_t step;
  bool conjugated = false;

  Complex<T> operator()(index_t i, index_t p) const {
    const Complex<T> value = data[i * row + p * step];
    return conjugated ? conjugate(value) : value;
  }
  [[nodiscard]] Operand at(index_t i, index_t p) const {
    return {data + i * row + p * step, row, step, conjugated};
  }
};

template <class T>
[[nodiscard]] TESSERA_HD Operand<T> operand(MatrixView<const T> x, Op op) {
  if constexpr (is_complex<T>) {
    if (turns(op)) return {x.data, 1, x.ld, op == Op::hermitian};
    return {x.data, x.ld, 1};
  } else {
    if (op == Op::none) return {x.data, x.ld, 1};
    return {x.data, 1, x.ld};
  }
}

/// Returns op(x) transposed.
template <class T>
[[nodiscard]] Operand<T> flipped(Operand<T> x) {
  Operand<T> turned = x;
  turned.row = x.step;
  turned.step = x.row;
  return turned;
}

/// Returns whether rows are contiguous and unconjugated in memory.
template <class T>
[[nodiscard]] bool has_plain_rows(const Operand<T>& x) {
  if constexpr (is_complex<T>) {
    if (x.conjugated) return false;
  }
  return x.step == 1;
}

/// Computes c = alpha * sum + beta * c, without reading c when beta == 0.
template <class T>
TESSERA_HD void put(T& c, T alpha, T sum, T beta) {
  c = beta == T{0} ? scaled(alpha, sum) : scaled(alpha, sum) + scaled(beta, c);
}

/// Computes c = beta * c, or sets zeros without reading c.
template <class T>
void scale(MatrixView<T> c, T beta) {
  for (index_t i = 0; i < c.rows; ++i) {
    for (index_t j = 0; j < c.cols; ++j) c(i, j) = beta == T{0} ? T{0} : scaled(beta, c(i, j));
  }
}

template <class T>
void fill(MatrixView<T> c, T value) {
  for (index_t i = 0; i < c.rows; ++i) {
    for (index_t j = 0; j < c.cols; ++j) c(i, j) = value;
  }
}

/// Returns whether there is nothing to multiply, so that C = beta C.
template <class T, class S>
[[nodiscard]] bool only_scales(const Gemm<T, S>& g) {
  return g.alpha == Factor<T>{0} || g.k() == 0;
}

}  // namespace tessera::inline v1::matmul
