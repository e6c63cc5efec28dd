#pragma once
// Scaled updates of numbers: what pdtran, pdgeadd and omatcopy do.

#include <complex>

#include "kernels/transpose/variants.hpp"

namespace tessera::transpose {

enum class Op { none, transpose };

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
/// The real numbers that a number consists of.
template <class T>
using Real = typename RealOf<T>::Type;

enum class Conjugate { no, yes };

/// b = alpha * op(a) + beta * b, each product and the sum rounded once, the same on every
/// instruction set; of complex numbers op(a) is conjugated where that is asked for, and the factors
/// are real. beta == 0 never reads b (it may hold NaN), alpha == 0 never reads a; b does not
/// overlap a.
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

}  // namespace tessera::transpose
