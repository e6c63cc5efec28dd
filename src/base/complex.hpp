#pragma once
// Complex numbers with the memory layout of h5py, numpy and std::complex. Products use the textbook
// formula with four multiplications and omit std::complex's recovery of non-finite results.

#include <type_traits>

#include "base/error.hpp"

namespace tessera::inline v1 {

template <class T>
struct Complex {
  T re, im;

  Complex() = default;
  TESSERA_HD constexpr Complex(T real, T imaginary = T{0})
      : re(real), im(imaginary) {}  // NOLINT: implicit

  friend constexpr bool operator==(const Complex&, const Complex&) = default;
  TESSERA_HD friend constexpr Complex operator+(Complex x, Complex y) {
    return {x.re + y.re, x.im + y.im};
  }
  TESSERA_HD friend constexpr Complex operator-(Complex x, Complex y) {
    return {x.re - y.re, x.im - y.im};
  }
  TESSERA_HD friend constexpr Complex operator-(Complex x) { return {-x.re, -x.im}; }
  TESSERA_HD friend constexpr Complex operator*(Complex x, Complex y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  }
  TESSERA_HD constexpr Complex& operator+=(Complex x) { return *this = *this + x; }
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Complex<T>> = true;

/// The type of the real and imaginary part; T itself for real T.
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

/// Returns factor * x. A real factor scales the parts separately, so an infinite part of x does not
/// make the other one NaN.
template <class T>
[[nodiscard]] TESSERA_HD constexpr auto scaled(const T& factor, const T& x) {
  return factor * x;
}
template <class T>
[[nodiscard]] TESSERA_HD constexpr Complex<T> scaled(const Complex<T>& factor,
                                                     const Complex<T>& x) {
  if (factor.im == T{0}) return {factor.re * x.re, factor.re * x.im};
  return factor * x;
}

template <class T>
[[nodiscard]] TESSERA_HD constexpr T conjugate(T x) {
  return x;
}
template <class T>
[[nodiscard]] TESSERA_HD constexpr Complex<T> conjugate(Complex<T> x) {
  return {x.re, -x.im};
}

}  // namespace tessera::inline v1
