#pragma once
// Random block-cyclic matrices of a process grid, with every element known.

#include <array>
#include <complex>
#include <cstring>
#include <vector>

#include "base/hash.hpp"
#include "dist/relayout/placed.hpp"

namespace tessera::scalapack {

using dist::relayout::pick;
using dist::relayout::Random;

/// Returns element (i, j) of matrix `which`: a small integer, so that all sums are exact.
template <class T>
T element(int which, index_t i, index_t j) {
  const std::uint64_t code = mix64(static_cast<std::uint64_t>((i * 10007 + j) * 5 + which));
  const auto part = [&](int shift) { return static_cast<float>((code >> shift) % 15) - 7; };
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return {part(0), part(8)};
  else
    return static_cast<T>(part(0));
}

/// Whether the first block may have another size than the others: a descriptor of 11 entries.
enum class Blocks { any, alike };

/// A matrix that holds sub(X), rows x cols, at (ia, ja), and the local array of this process.
template <class T>
struct CyclicMatrix {
  int ia, ja;
  std::array<int, 11> descriptor{};
  std::vector<T> local;

  struct Grid {
    int rows = 1, cols = 1, row = 0, col = 0;
  };
  CyclicMatrix(Random& random, int which, index_t sub_rows, index_t sub_cols, int context,
               const Grid& place, Blocks blocks = Blocks::any)
      : number(which), rows(sub_rows), cols(sub_cols), grid(place) {
    const auto choose = [&](index_t low, index_t high) { return pick(random, low, high); };
    ia = static_cast<int>(choose(1, 9));
    ja = static_cast<int>(choose(1, 9));
    const bool has_first = choose(0, 1) == 1 && blocks == Blocks::any;
    const auto side = [&](layout::CyclicMap& map, index_t extent, int parts) {
      map.extent = extent + choose(0, 4);
      map.block = choose(1, 9);
      map.parts = parts;
      map.source = choose(0, parts - 1);
      map.first_block = has_first ? choose(1, 9) : map.block;
    };
    side(by_row, ia - 1 + std::max<index_t>(1, rows), grid.rows);
    side(by_col, ja - 1 + std::max<index_t>(1, cols), grid.cols);
    const bool inside = grid.row >= 0;
    const index_t gap = choose(0, 3);
    lld = std::max<index_t>(1, count(by_row, grid.row)) + gap;
    const auto to_int = [](index_t x) { return static_cast<int>(x); };
    const std::array all{
        to_int(by_row.extent),      to_int(by_col.extent), to_int(by_row.first_block),
        to_int(by_col.first_block), to_int(by_row.block),  to_int(by_col.block),
        to_int(by_row.source),      to_int(by_col.source), to_int(lld)};
    descriptor[0] = has_first ? 2 : 1;
    descriptor[1] = context;
    std::size_t at = 2;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (has_first || (k != 2 && k != 3)) descriptor[at++] = all[k];
    local.resize(inside ? static_cast<std::size_t>(lld * count(by_col, grid.col)) + 2 : 0);
    std::memset(static_cast<void*>(local.data()), 0xff, local.size() * sizeof(T));  // NaN
    each([&](index_t i, index_t j, T& x) { x = element<T>(number, i, j); });
  }

  /// Returns the value of sub(X) at (i, j) as it was filled.
  [[nodiscard]] T old(index_t i, index_t j) const {
    return element<T>(number, ia - 1 + i, ja - 1 + j);
  }
  /// Replaces the submatrix's elements by NaN: they must not be read.
  void spoil() {
    each_of_sub(
        [](index_t, index_t, T& x) { std::memset(static_cast<void*>(&x), 0xff, sizeof x); });
  }
  /// Returns how many local elements differ from want(i, j) within sub(X), and from their former
  /// bytes elsewhere.
  template <class F>
  [[nodiscard]] index_t wrong(const CyclicMatrix& before, const F& want) const {
    CyclicMatrix expected = before;
    expected.each_of_sub([&](index_t i, index_t j, T& x) { x = want(i, j); });
    index_t sum = 0;
    for (std::size_t k = 0; k < local.size(); ++k) {
      const bool same = local[k] == expected.local[k] ||
                        std::memcmp(&local[k], &expected.local[k], sizeof(T)) == 0;
      sum += same ? 0 : 1;
    }
    return sum;
  }

 private:
  static index_t count(const layout::CyclicMap& map, int part) {
    index_t sum = 0;
    for (index_t g = 0; part >= 0 && g < map.extent; ++g)
      sum += dist::relayout::count_up(map, g).owner == part ? 1 : 0;
    return sum;
  }
  template <class F>
  void each(const F& f) {
    for (index_t i = 0; i < by_row.extent; ++i) {
      const auto r = dist::relayout::count_up(by_row, i);
      for (index_t j = 0; r.owner == grid.row && j < by_col.extent; ++j) {
        const auto c = dist::relayout::count_up(by_col, j);
        if (c.owner == grid.col) f(i, j, local[static_cast<std::size_t>(c.local * lld + r.local)]);
      }
    }
  }
  template <class F>
  void each_of_sub(const F& f) {
    each([&](index_t i, index_t j, T& x) {
      const index_t row = i - (ia - 1), col = j - (ja - 1);
      if (row >= 0 && row < rows && col >= 0 && col < cols) f(row, col, x);
    });
  }

  int number;
  index_t rows, cols, lld = 1;
  Grid grid;
  layout::CyclicMap by_row, by_col;
};

}  // namespace tessera::scalapack
