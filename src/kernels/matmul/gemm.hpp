#pragma once
// The general matrix product (GEMM), the problem that every matmul variant solves.

#include "base/complex.hpp"
#include "base/foreign.hpp"
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
/// Elements of a and b are of type S: T, or a half where T is float. Halves (Half, BFloat16 and
/// theirs) are computed with in float, also alpha and beta, and c is rounded to T once.
template <class T, class S = T>
struct Gemm {
  Factor<T> alpha = Factor<T>{1};
  MatrixView<const S> a;
  Op op_a = Op::none;
  MatrixView<const S> b;
  Op op_b = Op::none;
  Factor<T> beta = Factor<T>{0};
  MatrixView<T> c;

  [[nodiscard]] index_t m() const { return c.rows; }
  [[nodiscard]] index_t n() const { return c.cols; }
  [[nodiscard]] index_t k() const { return op_a == Op::none ? a.cols : a.rows; }
};

}  // namespace tessera::inline v1::matmul
