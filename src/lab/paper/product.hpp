#pragma once
// The product that kernels on paper compute, and its check.

#include <algorithm>
#include <string_view>
#include <vector>

#include "lab/paper/kernels.hpp"
#include "lab/paper/warp.hpp"

namespace tessera::inline v1::paper {

/// c[0:m, 0:n] = a[0:m, 0:k] * b[0:k, 0:n] on small whole numbers: exact in any order.
template <class T>
struct Product {
  Product(Meter& meter, const TracedProblem& p)
      : m(p.m),
        n(p.n),
        k(p.k),
        a(global_array(meter, "a", numbers(m * k, 7), k)),
        b(global_array(meter, "b", numbers(k * n, 5), n)),
        c(global_array(meter, "c", std::vector<T>(static_cast<std::size_t>(m * n), T(-1)), n)) {}

  [[nodiscard]] static std::vector<T> numbers(index_t count, index_t modulus) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (index_t i = 0; i < count; ++i)
      values[static_cast<std::size_t>(i)] = static_cast<T>(i % modulus - modulus / 2);
    return values;
  }

  /// Throws Error(internal) unless c is the product: every element by its definition.
  void check(std::string_view kernel) const {
    std::vector<T> row(static_cast<std::size_t>(n));
    for (index_t i = 0; i < m; ++i) {
      std::fill(row.begin(), row.end(), T{0});
      for (index_t p = 0; p < k; ++p) {
        const T factor = a.values[static_cast<std::size_t>(i * k + p)];
        for (index_t j = 0; j < n; ++j)
          row[static_cast<std::size_t>(j)] +=
              factor * b.values[static_cast<std::size_t>(p * n + j)];
      }
      require_right(std::equal(row.begin(), row.end(), c.values.begin() + i * n), kernel);
    }
  }

  index_t m, n, k;
  Array<T> a, b, c;
};

/// Returns the row of cuda_register.
[[nodiscard]] PaperKernel register_kernel();

}  // namespace tessera::inline v1::paper
