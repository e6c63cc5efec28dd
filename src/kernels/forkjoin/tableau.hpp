#pragma once
// The tableau of longest common subsequences of two strings (Cormen et al. 2009, 15.4), by
// quarters: the upper left, then its two neighbours forked, then the lower right: work n^2, span
// n^lg 3. A template for plain and traced elements.

#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "base/view.hpp"
#include "kernels/forkjoin/problem.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::forkjoin {

template <class T>
class Tableau final : public Problem {
 public:
  Tableau(index_t n, index_t threshold)
      : n_(n), threshold_(threshold), x_(n), y_(n), lengths_((n + 1) * (n + 1)) {
    for (index_t i = 0; i < n; ++i) {
      x_[i] = letter(1, i);
      y_[i] = letter(2, i);
    }
    Tableau::prepare();
  }

  void prepare() override {
    for (index_t i = 0; i <= n_; ++i) {
      for (index_t j = 0; j <= n_; ++j) table()(i, j) = i == 0 || j == 0 ? 0 : unset;
    }
  }
  void run() override { halve({1, n_, 1, n_}); }

  [[nodiscard]] index_t mistakes() const override {
    std::vector<std::uint32_t> row(static_cast<std::size_t>(n_) + 1, 0);
    index_t wrong = 0;
    for (index_t i = 1; i <= n_; ++i) {
      std::uint32_t diagonal = 0;
      for (std::size_t j = 1; j < row.size(); ++j) {
        const std::uint32_t above = row[j];
        row[j] = letter(1, i - 1) == letter(2, static_cast<index_t>(j) - 1)
                     ? diagonal + 1
                     : std::max(above, row[j - 1]);
        diagonal = above;
        wrong += lengths_[i * (n_ + 1) + static_cast<index_t>(j)] == row[j] ? 0 : 1;
      }
    }
    return wrong;
  }

 private:
  static constexpr std::uint32_t unset = ~std::uint32_t{0};
  struct Box {
    index_t i, m, j, n;
  };

  [[nodiscard]] static std::uint32_t letter(std::uint64_t stream, index_t i) {
    return static_cast<std::uint32_t>(random_bits(1, stream, i) % 4);
  }
  [[nodiscard]] MatrixView<T> table() { return matrix_view(lengths_.data(), n_ + 1, n_ + 1); }

  void fill(const Box& box) {
    const MatrixView<T> t = table();
    for (index_t i = box.i; i < box.i + box.m; ++i) {
      const std::uint32_t mine = x_[i - 1];
      for (index_t j = box.j; j < box.j + box.n; ++j) {
        if (y_[j - 1] == mine) {
          t(i, j) = static_cast<std::uint32_t>(t(i - 1, j - 1)) + 1;
        } else {
          const std::uint32_t above = t(i - 1, j), before = t(i, j - 1);
          t(i, j) = std::max(above, before);
        }
      }
    }
  }

  void halve(const Box& box) {
    if (std::max(box.m, box.n) <= threshold_) return fill(box);
    const index_t m = box.m / 2, n = box.n / 2;
    halve({box.i, m, box.j, n});
    machine::fork_join(
        [&] {
          halve({box.i, m, box.j + n, box.n - n});
        },
        [&] {
          halve({box.i + m, box.m - m, box.j, n});
        });
    halve({box.i + m, box.m - m, box.j + n, box.n - n});
  }

  index_t n_, threshold_;
  machine::Buffer<T> x_, y_, lengths_;
};

}  // namespace tessera::inline v1::forkjoin
