#pragma once
// Scaled updates of numbers: what pdtran, pdgeadd and omatcopy do.

#include "kernels/transpose/variants.hpp"

namespace tessera::transpose {

enum class Op { none, transpose };

/// b = alpha * op(a) + beta * b, each product and the sum rounded once, the same on every instruction set.
/// beta == 0 never reads b (it may hold NaN), alpha == 0 never reads a; b does not overlap a.
template <class T>
struct Update {
  T alpha = T{1};
  MatrixView<const T> a;
  Op op = Op::transpose;
  T beta = T{0};
  MatrixView<T> b;
};

void update(const Update<float>& u, const Tuning& tuning);
void update(const Update<double>& u, const Tuning& tuning);

}  // namespace tessera::transpose
