#pragma once
// Random distributions, and where an element is in each, by formulas other than the library's.

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "layout/distribution.hpp"

namespace tessera::inline v1::dist::relayout {

/// Place of an element in a rank's local memory.
struct Where {
  std::size_t array = 0;
  index_t row = 0, col = 0;
};

struct Placed {
  layout::Distribution distribution;
  /// Returns where a rank has element (i, j), or nothing.
  std::function<std::optional<Where>(index_t rank, index_t i, index_t j)> where;
};

using Random = std::mt19937;
/// Returns a number in [low, high].
inline index_t pick(Random& random, index_t low, index_t high) {
  return low + static_cast<index_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

inline std::vector<index_t> permutation(Random& random, index_t n) {
  std::vector<index_t> result;
  for (index_t k = 0; k < n; ++k)
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(pick(random, 0, k)), k);
  return result;
}

/// Returns the owner and the local index of global index g, by counting.
struct Cyclic1 {
  index_t owner, local;
};
inline Cyclic1 count_up(const layout::CyclicMap& map, index_t g) {
  std::vector<index_t> next(static_cast<std::size_t>(map.parts), 0);
  index_t owner = map.source, left = map.first_block > 0 ? map.first_block : map.block;
  for (index_t k = 0; k < g; ++k) {
    ++next[static_cast<std::size_t>(owner)];
    if (--left == 0) {
      owner = (owner + 1) % map.parts;
      left = map.block;
    }
  }
  return {owner, next[static_cast<std::size_t>(owner)]};
}

inline Placed block_cyclic(Random& random, index_t rows, index_t cols, index_t ranks) {
  layout::BlockCyclic cyclic;
  cyclic.rows.parts = pick(random, 1, ranks);
  cyclic.cols.parts = pick(random, 1, ranks / cyclic.rows.parts);
  const index_t row = pick(random, 0, 9), col = pick(random, 0, 9);
  const auto fill = [&](layout::CyclicMap& map, index_t extent) {
    map.extent = extent + pick(random, 0, 5);
    map.block = pick(random, 1, 12);
    map.first_block = pick(random, 0, 1) * pick(random, 1, 12);
    map.source = pick(random, 0, map.parts - 1);
  };
  fill(cyclic.rows, row + rows);
  fill(cyclic.cols, col + cols);
  cyclic.box = layout::Box{{row, row + rows}, {col, col + cols}};
  std::vector<index_t> ranks_of = permutation(random, ranks);
  ranks_of.resize(static_cast<std::size_t>(cyclic.rows.parts * cyclic.cols.parts));
  cyclic.ranks = ranks_of;
  std::vector<Cyclic1> by_row, by_col;
  for (index_t i = 0; i < rows; ++i) by_row.push_back(count_up(cyclic.rows, row + i));
  for (index_t j = 0; j < cols; ++j) by_col.push_back(count_up(cyclic.cols, col + j));
  return {layout::Distribution(cyclic, ranks),
          [=](index_t rank, index_t i, index_t j) -> std::optional<Where> {
            const Cyclic1 r = by_row[static_cast<std::size_t>(i)],
                          c = by_col[static_cast<std::size_t>(j)];
            const index_t place = r.owner * cyclic.cols.parts + c.owner;
            if (ranks_of[static_cast<std::size_t>(place)] != rank) return std::nullopt;
            return Where{0, r.local, c.local};
          }};
}

inline Placed block_grid(Random& random, index_t rows, index_t cols, index_t ranks) {
  const auto splits = [&](index_t extent) {
    std::vector<index_t> result{0, extent};
    for (index_t k = pick(random, 0, 6); k > 0; --k) result.push_back(pick(random, 0, extent));
    std::sort(result.begin(), result.end());
    return result;
  };
  layout::BlockGrid grid{splits(rows), splits(cols), {}};
  const std::size_t width = grid.col_splits.size() - 1;
  std::vector<std::size_t> number, count(static_cast<std::size_t>(ranks), 0);
  for (std::size_t b = 0; b < (grid.row_splits.size() - 1) * width; ++b) {
    grid.owners.push_back(pick(random, 0, ranks - 1));
    number.push_back(count[static_cast<std::size_t>(grid.owners.back())]++);
  }
  const auto block_of = [](const std::vector<index_t>& cuts, index_t g) {
    std::size_t b = 0;
    while (cuts[b + 1] <= g) ++b;
    return b;
  };
  return {layout::Distribution(grid, ranks),
          [=](index_t rank, index_t i, index_t j) -> std::optional<Where> {
            const std::size_t r = block_of(grid.row_splits, i), c = block_of(grid.col_splits, j);
            if (grid.owners[r * width + c] != rank) return std::nullopt;
            return Where{number[r * width + c], i - grid.row_splits[r], j - grid.col_splits[c]};
          }};
}

inline Placed one_box(Random& random, index_t rows, index_t cols, index_t ranks) {
  index_t down = pick(random, 1, ranks);
  while (ranks % down != 0) --down;
  const layout::MatrixLayout boxes = layout::grid_blocks(
      layout::BlockMap(rows, down), layout::BlockMap(cols, ranks / down), {down, ranks / down});
  return {layout::Distribution(boxes),
          [=](index_t rank, index_t i, index_t j) -> std::optional<Where> {
            const layout::Box& box = boxes.of(rank);
            if (i < box.rows.begin || i >= box.rows.end || j < box.cols.begin || j >= box.cols.end)
              return std::nullopt;
            return Where{0, i - box.rows.begin, j - box.cols.begin};
          }};
}

inline Placed any_distribution(Random& random, index_t rows, index_t cols, index_t ranks) {
  switch (pick(random, 0, 3)) {
    case 0:
      return block_grid(random, rows, cols, ranks);
    case 1:
      return one_box(random, rows, cols, ranks);
    default:
      return block_cyclic(random, rows, cols, ranks);
  }
}

}  // namespace tessera::inline v1::dist::relayout
