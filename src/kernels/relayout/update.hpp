#pragma once
// What one element becomes; on the host and in device kernels.

#include "base/complex.hpp"
#include "kernels/relayout/move_blocks.hpp"

namespace tessera::inline v1::relayout {

/// to = alpha * from + beta * to.
template <class T>
struct Scaling {
  using R = Real<T>;
  T alpha, beta;
  bool reads_from, reads_to, conjugates;

  explicit Scaling(const Factors& factors)
      : alpha(number(factors.alpha)),
        beta(number(factors.beta)),
        reads_from(factors.alpha != Complex<double>{0}),
        reads_to(factors.beta != Complex<double>{0}),
        conjugates(is_complex<T> && factors.conjugates) {}

  TESSERA_HD void operator()(const T* from, T* to) const {
    T sum{0};
    if (reads_from) sum = scaled(alpha, conjugates ? conjugate(*from) : *from);
    if (reads_to) sum = reads_from ? sum + scaled(beta, *to) : scaled(beta, *to);
    *to = sum;
  }

 private:
  static T number(const Complex<double>& x) {
    if constexpr (is_complex<T>) {
      return {static_cast<R>(x.re), static_cast<R>(x.im)};
    } else {
      return static_cast<R>(x.re);
    }
  }
};

}  // namespace tessera::inline v1::relayout
