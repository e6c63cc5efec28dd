// The product of two square matrices, as a recursion and as a parallel loop over rows, with the
// same serial loops below the threshold: they differ in the order of the work and the number of
// forks.

#include <cmath>

#include "base/random.hpp"
#include "kernels/forkjoin/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::forkjoin {
namespace {

class Product : public Problem {
 public:
  Product(index_t n, index_t threshold)
      : n_(n), threshold_(threshold), a_(n * n), b_(n * n), c_(n * n) {
    for (index_t i = 0; i < n * n; ++i) {
      a_[i] = random_symmetric<double>(1, 1, i);
      b_[i] = random_symmetric<double>(1, 2, i);
    }
    Product::prepare();
  }

  void prepare() final {
    for (double& value : c_) value = 0;
  }

  /// Checks rows of c times the vector (1, 2, ..., n) against a (b x), so that every element of c
  /// counts.
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
  struct Box {
    index_t i, m, j, n, p, k;
  };

  /// Computes c[i:i+m, j:j+n] += a[i:i+m, p:p+k] * b[p:p+k, j:j+n].
  void multiply(const Box& box) {
    for (index_t i = box.i; i < box.i + box.m; ++i) {
      for (index_t p = box.p; p < box.p + box.k; ++p) {
        const double factor = a_[i * n_ + p];
        const double* const from = b_.data() + p * n_;
        double* const to = c_.data() + i * n_;
        for (index_t j = box.j; j < box.j + box.n; ++j) to[j] += factor * from[j];
      }
    }
  }

  index_t n_, threshold_;

 private:
  [[nodiscard]] double row_times(const machine::Buffer<double>& matrix, index_t i,
                                 const machine::Buffer<double>& x) const {
    double sum = 0;
    for (index_t j = 0; j < n_; ++j) sum += matrix[i * n_ + j] * x[j];
    return sum;
  }

  machine::Buffer<double> a_, b_, c_;
};

class Recursive final : public Product {
 public:
  using Product::Product;
  void run() override { halve({0, n_, 0, n_, 0, n_}); }

 private:
  void halve(const Box& box) {
    if (std::max({box.m, box.n, box.k}) <= threshold_) return multiply(box);
    Box low = box, high = box;
    const auto cut = [](index_t& begin, index_t& first, index_t& second) {
      first /= 2;
      second -= first;
      begin += first;
    };
    if (box.k > std::max(box.m, box.n)) {  // in sequence: both halves add to the same c
      cut(high.p, low.k, high.k);
      halve(low);
      return halve(high);
    }
    if (box.m >= box.n) {
      cut(high.i, low.m, high.m);
    } else {
      cut(high.j, low.n, high.n);
    }
    machine::fork_join([&] { halve(low); }, [&] { halve(high); });
  }
};

class Iterative final : public Product {
 public:
  using Product::Product;
  void run() override {
    machine::parallel_for(0, n_, threshold_, [this](index_t begin, index_t end) {
      multiply({begin, end - begin, 0, n_, 0, n_});
    });
  }
};

}  // namespace

std::unique_ptr<Problem> matmul_recursive(index_t n, index_t threshold) {
  return std::make_unique<Recursive>(n, threshold);
}

std::unique_ptr<Problem> matmul_iterative(index_t n, index_t threshold) {
  return std::make_unique<Iterative>(n, threshold);
}

}  // namespace tessera::forkjoin
