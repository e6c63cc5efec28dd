#pragma once
// The general matrix product (GEMM), the problem that every matmul variant solves.

#include "base/complex.hpp"
#include "base/view.hpp"

namespace tessera::inline v1::matmul {

enum class Op { none, transpose, hermitian };
/// Returns whether op(x) is stored with rows and columns exchanged.
[[nodiscard]] constexpr bool turns(Op op) {
  switch (op) {
    case Op::none:
      break;
    case Op::transpose:
    case Op::hermitian:
      return true;
  }
  return false;
}

/// The problem c[0:m, 0:n] = alpha * op(a)[0:m, 0:k] * op(b)[0:k, 0:n] + beta * c[0:m, 0:n]. a is
/// stored (m, k), or (k, m) when op_a turns; b is stored (k, n), or (n, k). c overlaps neither.
/// hermitian is defined for complex elements only; for real ones it is transpose. beta == 0 never
/// reads c (it may hold NaN); k == 0 or alpha == 0 leaves beta * c and reads neither a nor b.
template <class T>
struct Gemm {
  T alpha = T{1};
  MatrixView<const T> a;
  Op op_a = Op::none;
  MatrixView<const T> b;
  Op op_b = Op::none;
  T beta = T{0};
  MatrixView<T> c;

  [[nodiscard]] index_t m() const { return c.rows; }
  [[nodiscard]] index_t n() const { return c.cols; }
  [[nodiscard]] index_t k() const { return op_a == Op::none ? a.cols : a.rows; }
};

}  // namespace tessera::inline v1::matmul
