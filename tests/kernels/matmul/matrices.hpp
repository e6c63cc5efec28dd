#pragma once
// Test matrices: seeded values, a leading dimension larger than the row, surrounded by sentinels.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/matmul/operand.hpp"

namespace tessera::matmul {

/// Matrix of rows x cols with `pad` further elements per row, a row before and one after. Elements
/// outside the matrix hold a sentinel.
template <class T>
class Matrix {
 public:
  Matrix(index_t rows, index_t cols, index_t pad = 3)
      : rows_(rows),
        cols_(cols),
        ld_(cols + pad),
        data_(static_cast<std::size_t>((rows + 2) * ld_), sentinel) {}

  static Matrix random(index_t rows, index_t cols, std::uint64_t stream) {
    Matrix x(rows, cols);
    x.each([&](T& value, index_t at) { value = random_symmetric<T>(7, stream, at); });
    return x;
  }
  /// Returns integers of magnitude at most 8: products and sums are exact.
  static Matrix integers(index_t rows, index_t cols, std::uint64_t stream) {
    Matrix x(rows, cols);
    const auto draw = [&](index_t at) {
      return static_cast<Real<T>>(static_cast<int>(random_bits(7, stream, at) % 17) - 8);
    };
    x.each([&](T& value, index_t at) {
      if constexpr (is_complex<T>) {
        value = {draw(2 * at), draw(2 * at + 1)};
      } else {
        value = draw(at);
      }
    });
    return x;
  }
  static Matrix filled(index_t rows, index_t cols, T with) {
    Matrix x(rows, cols);
    x.each([&](T& value, index_t) { value = with; });
    return x;
  }

  [[nodiscard]] MatrixView<T> view() { return {data_.data() + ld_, rows_, cols_, ld_}; }
  [[nodiscard]] MatrixView<const T> view() const { return {data_.data() + ld_, rows_, cols_, ld_}; }
  T operator()(index_t i, index_t j) const { return view()(i, j); }

  [[nodiscard]] bool sentinels_stand() const {
    const std::size_t first = static_cast<std::size_t>(ld_);
    for (std::size_t at = 0; at < data_.size(); ++at) {
      const bool inside = at >= first && at < first + static_cast<std::size_t>(rows_ * ld_) &&
                          static_cast<index_t>((at - first)) % ld_ < cols_;
      if (!inside && !(data_[at] == sentinel)) return false;
    }
    return true;
  }
  /// Returns whether all bits are equal, including those around the matrix.
  friend bool same_bits(const Matrix& x, const Matrix& y) {
    return x.data_.size() == y.data_.size() &&
           (x.data_.empty() ||
            std::memcmp(x.data_.data(), y.data_.data(), x.data_.size() * sizeof(T)) == 0);
  }

 private:
  static constexpr T sentinel = T(Real<T>{-12345});

  template <class F>
  void each(const F& f) {
    for (index_t i = 0; i < rows_; ++i) {
      for (index_t j = 0; j < cols_; ++j) f(view()(i, j), i * cols_ + j);
    }
  }

  index_t rows_, cols_, ld_;
  std::vector<T> data_;
};

struct Shape3 {
  index_t m, n, k;
};

inline std::string text(Shape3 s, Op op_a, Op op_b) {
  const auto letter = [](Op op) { return op == Op::none ? "N" : op == Op::transpose ? "T" : "H"; };
  return std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) + " " +
         letter(op_a) + letter(op_b);
}

inline constexpr Op ops[] = {Op::none, Op::transpose};
/// Returns the operations on elements of type T.
template <class T>
std::vector<Op> ops_of() {
  if (is_complex<T>) return {Op::none, Op::transpose, Op::hermitian};
  return {Op::none, Op::transpose};
}

/// Converts to double precision.
inline double wide(float x) { return x; }
inline double wide(double x) { return x; }
template <class T>
Complex<double> wide(Complex<T> x) {
  return {x.re, x.im};
}
/// Returns between 1 and sqrt(2) times the absolute value.
inline double size(double x) { return std::abs(x); }
inline double size(Complex<double> x) { return std::abs(x.re) + std::abs(x.im); }
/// Returns a number that no product contains.
template <class T>
T not_a_number() {
  constexpr auto nan = std::numeric_limits<Real<T>>::quiet_NaN();
  if constexpr (is_complex<T>) {
    return {nan, nan};
  } else {
    return nan;
  }
}
template <class T>
bool is_nan(T x) {
  if constexpr (is_complex<T>) {
    return std::isnan(x.re) || std::isnan(x.im);
  } else {
    return std::isnan(x);
  }
}

/// Returns the stored form of op(x)[rows, cols].
template <class T, class Make>
Matrix<T> stored(index_t rows, index_t cols, Op op, const Make& make) {
  return op == Op::none ? make(rows, cols) : make(cols, rows);
}

/// Checks that c equals alpha op(a) op(b) + beta c0 within gamma_k (|alpha| |A| |B| + |beta| |C0|).
template <class T>
::testing::AssertionResult is_product(const Gemm<T>& g, const Matrix<T>& c0) {
  const auto a = operand(g.a, g.op_a);
  const auto b = operand(g.b, g.op_b);
  const double unit = static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
  for (index_t i = 0; i < g.m(); ++i) {
    for (index_t j = 0; j < g.n(); ++j) {
      decltype(wide(T{})) sum = 0;
      double sizes = 0;
      for (index_t p = 0; p < g.k(); ++p) {
        sum += wide(a(i, p)) * wide(b(p, j));
        sizes += size(wide(a(i, p))) * size(wide(b(p, j)));
      }
      auto want = wide(g.alpha) * sum;
      double bound = size(wide(g.alpha)) * sizes;
      if (!(g.beta == T{0})) {
        want = want + wide(g.beta) * wide(c0(i, j));
        bound += size(wide(g.beta)) * size(wide(c0(i, j)));
      }
      bound *= unit * static_cast<double>((is_complex<T> ? 2 * g.k() : g.k()) + 3);
      const auto got = wide(g.c(i, j));
      if (!(size(got - want) <= bound)) {
        return ::testing::AssertionFailure()
               << "c(" << i << ", " << j << ") is off by " << size(got - want) << ", not " << bound;
      }
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace tessera::matmul
