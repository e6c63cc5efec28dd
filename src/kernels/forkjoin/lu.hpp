#pragma once
// LU decomposition without pivoting of a diagonally dominant matrix, by halves: the triangular
// solves of the two off-diagonal quarters are forked, products have temporaries (Toledo 1997):
// work n^3, span n lg n. A template for plain and traced elements.

#include "kernels/forkjoin/matmul.hpp"

namespace tessera::inline v1::forkjoin {

/// Computes c -= a * b with a temporary product.
template <class T>
void subtract_product(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                      index_t threshold) {
  if (c.empty()) return;
  machine::Buffer<T> memory(c.rows * c.cols);
  const MatrixView<T> product = matrix_view(memory.data(), c.rows, c.cols);
  multiply<T>(product, a, b, threshold);
  for_elements(c.rows, c.cols, threshold, [&](index_t i, index_t j) { c(i, j) -= product(i, j); });
}

/// Computes x = l^-1 * x, the diagonal of l being 1.
template <class T>
void solve_lower(MatrixView<const T> l, MatrixView<T> x, index_t threshold) {
  const index_t n = l.rows, m = x.cols;
  if (m > threshold) {
    const index_t half = m / 2;
    return machine::fork_join([=] { solve_lower(l, x.cols_range(0, half), threshold); },
                              [=] { solve_lower(l, x.cols_range(half, m - half), threshold); });
  }
  if (n <= threshold) {
    for (index_t i = 0; i < n; ++i) {
      for (index_t p = 0; p < i; ++p) {
        const T factor = l(i, p);
        for (index_t j = 0; j < m; ++j) x(i, j) -= factor * x(p, j);
      }
    }
    return;
  }
  const index_t half = n / 2;
  const MatrixView<T> top = x.rows_range(0, half), bottom = x.rows_range(half, n - half);
  solve_lower(l.block(0, 0, half, half), top, threshold);
  subtract_product<T>(bottom, l.block(half, 0, n - half, half), top, threshold);
  solve_lower(l.block(half, half, n - half, n - half), bottom, threshold);
}

/// Computes x = x * u^-1.
template <class T>
void solve_upper(MatrixView<const T> u, MatrixView<T> x, index_t threshold) {
  const index_t n = u.rows, m = x.rows;
  if (m > threshold) {
    const index_t half = m / 2;
    return machine::fork_join([=] { solve_upper(u, x.rows_range(0, half), threshold); },
                              [=] { solve_upper(u, x.rows_range(half, m - half), threshold); });
  }
  if (n <= threshold) {
    for (index_t i = 0; i < m; ++i) {
      for (index_t p = 0; p < n; ++p) {
        const T factor = x(i, p) / u(p, p);
        x(i, p) = factor;
        for (index_t j = p + 1; j < n; ++j) x(i, j) -= factor * u(p, j);
      }
    }
    return;
  }
  const index_t half = n / 2;
  const MatrixView<T> left = x.cols_range(0, half), right = x.cols_range(half, n - half);
  solve_upper(u.block(0, 0, half, half), left, threshold);
  subtract_product<T>(right, left, u.block(0, half, half, n - half), threshold);
  solve_upper(u.block(half, half, n - half, n - half), right, threshold);
}

/// Decomposes a into l, below the diagonal, and u.
template <class T>
void decompose(MatrixView<T> a, index_t threshold) {
  const index_t n = a.rows, half = n / 2;
  if (n <= threshold) {
    for (index_t p = 0; p < n; ++p) {
      for (index_t i = p + 1; i < n; ++i) {
        const T factor = a(i, p) / a(p, p);
        a(i, p) = factor;
        for (index_t j = p + 1; j < n; ++j) a(i, j) -= factor * a(p, j);
      }
    }
    return;
  }
  const MatrixView<T> first = a.block(0, 0, half, half), right = a.block(0, half, half, n - half);
  const MatrixView<T> below = a.block(half, 0, n - half, half);
  const MatrixView<T> rest = a.block(half, half, n - half, n - half);
  decompose(first, threshold);
  machine::fork_join([&] { solve_lower<T>(first, right, threshold); },
                     [&] { solve_upper<T>(first, below, threshold); });
  subtract_product<T>(rest, below, right, threshold);
  decompose(rest, threshold);
}

template <class T>
class Lu final : public Problem {
 public:
  Lu(index_t n, index_t threshold) : n_(n), threshold_(threshold), a_(n * n) { Lu::prepare(); }

  void prepare() override {
    for (index_t i = 0; i < n_ * n_; ++i) a_[i] = element(i);
  }
  void run() override { decompose(matrix_view(a_.data(), n_, n_), threshold_); }

  /// Checks rows of l (u x) against a x for a random vector x.
  [[nodiscard]] index_t mistakes() const override {
    machine::Buffer<double> x(n_), ux(n_);
    for (index_t j = 0; j < n_; ++j) x[j] = random_symmetric<double>(1, 3, j);
    const auto row = [&](index_t i, index_t begin, index_t end, const machine::Buffer<double>& v) {
      double sum = 0;
      for (index_t j = begin; j < end; ++j) sum += static_cast<double>(a_[i * n_ + j]) * v[j];
      return sum;
    };
    for (index_t i = 0; i < n_; ++i) ux[i] = row(i, i, n_, x);
    const double tolerance = 1e-14 * static_cast<double>(n_) * static_cast<double>(n_ + 1);
    index_t wrong = 0;
    for (index_t i = 0; i < n_; ++i) {
      double wanted = 0;
      for (index_t j = 0; j < n_; ++j) wanted += element(i * n_ + j) * x[j];
      wrong += !(std::abs(row(i, 0, i, ux) + ux[i] - wanted) <= tolerance) ? 1 : 0;
    }
    return wrong;
  }

 private:
  [[nodiscard]] double element(index_t i) const {
    const double random = random_symmetric<double>(1, 1, i);
    return i / n_ == i % n_ ? random + static_cast<double>(n_) : random;
  }

  index_t n_, threshold_;
  machine::Buffer<T> a_;
};

}  // namespace tessera::inline v1::forkjoin
