#pragma once
// Table to sort, and the expected order of its rows.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "dist/sort/argsort.hpp"

namespace tessera::dist::sort {
namespace {

/// Table of columns in parts, and the reference permutation.
struct Table {
  using Text = std::array<unsigned char, 10>;
  std::vector<Text> text;
  std::vector<double> a;
  std::vector<std::int32_t> b;
  std::vector<std::uint64_t> c;

  explicit Table(index_t n) {
    const double special[] = {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(),
                              -std::numeric_limits<double>::quiet_NaN(), 1.5};
    for (index_t i = 0; i < n; ++i) {
      a.push_back(special[random_bits(1, 1, i) % 5]);
      b.push_back(static_cast<std::int32_t>(random_bits(1, 2, i) % 3) - 1);
      c.push_back(random_bits(1, 3, i) % 4);
      Text word{};  // words differ in the first key word, in the second, or not at all
      word[random_bits(1, 4, i) % 2 * 8] =
          static_cast<unsigned char>(random_bits(1, 5, i) % 2 * 200);
      text.push_back(word);
    }
  }

  template <class T>
  static const std::byte* part(const std::vector<T>& column, index_t first) {
    return reinterpret_cast<const std::byte*>(column.data() + first);
  }
  /// Returns the keys: text descending, a ascending, b descending, c ascending.
  [[nodiscard]] std::vector<KeyColumn> columns(index_t first) const {
    return {{KeyForm::string(10), part(text, first), Order::descending},
            {KeyForm::of(Element::f64).by_number(), part(a, first), Order::ascending},
            {KeyForm::of(Element::i32), part(b, first), Order::descending},
            {KeyForm::of(Element::u64), part(c, first), Order::ascending}};
  }
  [[nodiscard]] std::vector<std::uint64_t> expected() const {
    std::vector<std::uint64_t> order(a.size());
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    const auto number = [&](std::uint64_t i) {
      return std::pair(std::isnan(a[i]), std::isnan(a[i]) ? 0 : a[i]);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::uint64_t x, std::uint64_t y) {
      if (text[x] != text[y]) return text[x] > text[y];
      if (number(x) != number(y)) return number(x) < number(y);
      if (b[x] != b[y]) return b[x] > b[y];
      return c[x] < c[y];
    });
    return order;
  }
};

}  // namespace
}  // namespace tessera::dist::sort
