#pragma once
// The product of two square matrices, as a recursion, as a parallel loop over rows, and as a
// recursion with temporaries, whose eight subproducts are forked at once (Cormen et al. 2009,
// 27.2): span lg^2 n instead of n. Templates for plain and traced elements.

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "base/view.hpp"
#include "kernels/forkjoin/problem.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {

/// A, B and C of edge `edge`, stored with rows and columns of zeros up to `padded`.
template <class T>
class Product : public Problem {
 public:
  Product(index_t edge, index_t threshold, index_t padded)
      : n_(edge),
        threshold_(threshold),
        padded_(padded),
        a_(padded * padded),
        b_(padded * padded),
        c_(padded * padded) {
    fill(a_, 1);
    fill(b_, 2);
    Product::prepare();
  }
  Product(index_t edge, index_t threshold) : Product(edge, threshold, edge) {}

  void prepare() final {
    for (T& value : c_) value = 0;
  }

  /// Checks rows of c times a random vector against a (b x), so that every element of c counts.
  [[nodiscard]] index_t mistakes() const final {
    machine::Buffer<double> x(n_);
    for (index_t j = 0; j < n_; ++j) x[j] = random_symmetric<double>(1, 3, j);
    machine::Buffer<double> bx(n_);
    for (index_t p = 0; p < n_; ++p) bx[p] = row_times(b_, p, x);
    const double tolerance = 1e-14 * static_cast<double>(n_) * static_cast<double>(n_);
    index_t wrong = 0;
    for (index_t i = 0; i < n_; ++i)
      wrong += !(std::abs(row_times(c_, i, x) - row_times(a_, i, bx)) <= tolerance) ? 1 : 0;
    return wrong;
  }

 protected:
  [[nodiscard]] MatrixView<const T> a() const { return view(a_); }
  [[nodiscard]] MatrixView<const T> b() const { return view(b_); }
  [[nodiscard]] MatrixView<T> c() { return matrix_view(c_.data(), padded_, padded_); }

  index_t n_, threshold_;

 private:
  [[nodiscard]] MatrixView<const T> view(const machine::Buffer<T>& x) const {
    return matrix_view(x.data(), padded_, padded_);
  }
  void fill(machine::Buffer<T>& x, std::uint64_t stream) {
    for (index_t i = 0; i < padded_; ++i) {
      for (index_t j = 0; j < padded_; ++j)
        x[i * padded_ + j] =
            i < n_ && j < n_ ? random_symmetric<double>(1, stream, i * n_ + j) : 0.0;
    }
  }
  [[nodiscard]] double row_times(const machine::Buffer<T>& matrix, index_t i,
                                 const machine::Buffer<double>& x) const {
    double sum = 0;
    for (index_t j = 0; j < n_; ++j) sum += static_cast<double>(matrix[i * padded_ + j]) * x[j];
    return sum;
  }

  index_t padded_;
  machine::Buffer<T> a_, b_, c_;
};

/// Computes c += a * b by loops.
template <class T>
void add_product(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b) {
  for (index_t i = 0; i < c.rows; ++i) {
    for (index_t p = 0; p < a.cols; ++p) {
      const T factor = a(i, p);
      for (index_t j = 0; j < c.cols; ++j) c(i, j) += factor * b(p, j);
    }
  }
}

template <class T>
class MatmulRecursive final : public Product<T> {
 public:
  using Product<T>::Product;
  void run() override { halve(this->c(), this->a(), this->b()); }

 private:
  void halve(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b) {
    const index_t m = c.rows, n = c.cols, k = a.cols;
    if (std::max({m, n, k}) <= this->threshold_) return add_product(c, a, b);
    if (k > std::max(m, n)) {  // in sequence: both halves add to the same c
      halve(c, a.cols_range(0, k / 2), b.rows_range(0, k / 2));
      return halve(c, a.cols_range(k / 2, k - k / 2), b.rows_range(k / 2, k - k / 2));
    }
    if (m >= n) {
      const index_t half = m / 2;
      machine::fork_join(
          [&] { halve(c.rows_range(0, half), a.rows_range(0, half), b); },
          [&] { halve(c.rows_range(half, m - half), a.rows_range(half, m - half), b); });
    } else {
      const index_t half = n / 2;
      machine::fork_join(
          [&] { halve(c.cols_range(0, half), a, b.cols_range(0, half)); },
          [&] { halve(c.cols_range(half, n - half), a, b.cols_range(half, n - half)); });
    }
  }
};

template <class T>
class MatmulIterative final : public Product<T> {
 public:
  using Product<T>::Product;
  void run() override {
    machine::parallel_for(0, this->n_, this->threshold_, [this](index_t begin, index_t end) {
      add_product(this->c().rows_range(begin, end - begin),
                  this->a().rows_range(begin, end - begin), this->b());
    });
  }
};

/// Calls body(i, j) for every element of an m x n matrix, in pieces of threshold^2.
template <class Body>
void for_elements(index_t m, index_t n, index_t threshold, const Body& body) {
  machine::parallel_for(0, m * n, threshold * threshold, [&, n](index_t begin, index_t end) {
    index_t i = begin / n, j = begin % n;
    for (index_t e = begin; e < end; ++e) {
      body(i, j);
      if (++j == n) {
        j = 0;
        ++i;
      }
    }
  });
}

/// Computes c = a * b: two halves of the sum over k, each of four forked quarters, the second one
/// into a temporary that is added.
template <class T>
void multiply(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b, index_t threshold) {
  const index_t m = c.rows, n = c.cols, k = a.cols;
  if (m == 0 || n == 0) return;
  if (std::max({m, n, k}) <= threshold) {
    for (index_t i = 0; i < m; ++i) {
      for (index_t j = 0; j < n; ++j) c(i, j) = T{0};
    }
    return add_product(c, a, b);
  }
  machine::Buffer<T> memory(m * n);
  const MatrixView<T> sum = matrix_view(memory.data(), m, n);
  const auto quarter = [&](MatrixView<T> to, index_t p, index_t kp, index_t part) {
    const index_t i = part / 2 == 0 ? 0 : m / 2, j = part % 2 == 0 ? 0 : n / 2;
    const index_t mi = part / 2 == 0 ? m / 2 : m - m / 2, nj = part % 2 == 0 ? n / 2 : n - n / 2;
    multiply(to.block(i, j, mi, nj), a.block(i, p, mi, kp), b.block(p, j, kp, nj), threshold);
  };
  machine::fork_for(0, 8, 1, [&](index_t part, index_t) {
    part < 4 ? quarter(c, 0, k / 2, part) : quarter(sum, k / 2, k - k / 2, part - 4);
  });
  for_elements(m, n, threshold, [&](index_t i, index_t j) { c(i, j) += sum(i, j); });
}

template <class T>
class MatmulTemporaries final : public Product<T> {
 public:
  using Product<T>::Product;
  void run() override { multiply(this->c(), this->a(), this->b(), this->threshold_); }
};

}  // namespace tessera::inline v1::forkjoin
