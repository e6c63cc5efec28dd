#pragma once
// Scaled updates of matrices of numbers, as pdtran, pdgeadd and omatcopy.

#include <complex>

#include "kernels/transpose/variants.hpp"

namespace tessera::inline v1::transpose {

enum class Op { none, transpose };

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
/// The real type of a number's parts.
template <class T>
using Real = typename RealOf<T>::Type;

enum class Conjugate { no, yes };

/// The update b = alpha * op(a) + beta * b, with each product and the sum rounded once, the same on
/// every instruction set; for complex numbers op(a) is conjugated on request, and the factors are
/// real. beta == 0 never reads b (it may hold NaN), alpha == 0 never reads a; b does not overlap a.
template <class T>
struct Update {
  Real<T> alpha = 1;
  MatrixView<const T> a;
  Op op = Op::transpose;
  Real<T> beta = 0;
  MatrixView<T> b;
  Conjugate conjugate = Conjugate::no;
};

void update(const Update<float>& u, const Tuning& tuning);
void update(const Update<double>& u, const Tuning& tuning);
void update(const Update<std::complex<float>>& u, const Tuning& tuning);
void update(const Update<std::complex<double>>& u, const Tuning& tuning);

}  // namespace tessera::inline v1::transpose
