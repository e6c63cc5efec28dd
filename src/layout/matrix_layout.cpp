#include "layout/matrix_layout.hpp"

#include <algorithm>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace tessera::inline v1::layout {
namespace {

std::vector<PeerBlock> overlaps(const Box& mine, const std::vector<Box>& theirs) {
  std::vector<PeerBlock> pieces;
  for (std::size_t peer = 0; peer < theirs.size(); ++peer) {
    const Box common = intersect(mine, theirs[peer]);
    if (!common.empty()) pieces.push_back({static_cast<index_t>(peer), common});
  }
  return pieces;
}

}  // namespace

std::string text(const Box& box) {
  return fmt::format("[{}:{}, {}:{})", box.rows.begin, box.rows.end, box.cols.begin, box.cols.end);
}

ProcessGrid nearest_square(index_t ranks, index_t m, index_t n) {
  ProcessGrid best{ranks, 1};
  double best_cost = INFINITY;
  for (index_t r = 1; r <= ranks; ++r) {
    if (ranks % r != 0) continue;
    const index_t c = ranks / r;
    // Half the perimeter of a block: what a rank receives of the operands, per unit of k.
    const double cost = static_cast<double>(m) / static_cast<double>(r) +
                        static_cast<double>(n) / static_cast<double>(c);
    if (cost < best_cost) {
      best = {r, c};
      best_cost = cost;
    }
  }
  return best;
}

MatrixLayout row_blocks(index_t rows, index_t cols, index_t ranks) {
  return grid_blocks(BlockMap(rows, ranks), BlockMap(cols, 1), {ranks, 1});
}

MatrixLayout row_blocks(index_t rows, index_t cols, const std::vector<index_t>& offsets) {
  require_argument(!offsets.empty() && offsets.front() == 0 && offsets.back() == rows &&
                       std::is_sorted(offsets.begin(), offsets.end()),
                   "offsets", fmt::format("must ascend from 0 to the {} rows of the matrix", rows));
  MatrixLayout layout{rows, cols, {}};
  for (std::size_t rank = 0; rank + 1 < offsets.size(); ++rank)
    layout.boxes.push_back({{offsets[rank], offsets[rank + 1]}, {0, cols}});
  return layout;
}

MatrixLayout grid_blocks(const BlockMap& rows, const BlockMap& cols, const ProcessGrid& grid) {
  require_argument(grid.rows == rows.parts() && grid.cols == cols.parts(), "grid",
                   fmt::format("has {} x {} ranks: rows and cols have {} x {} parts", grid.rows,
                               grid.cols, rows.parts(), cols.parts()));
  MatrixLayout layout{rows.extent(), cols.extent(), {}};
  for (index_t rank = 0; rank < grid.size(); ++rank) {
    layout.boxes.push_back({rows.range(grid.row(rank)), cols.range(grid.col(rank))});
  }
  return layout;
}

MatrixLayout transposed(const MatrixLayout& layout) {
  MatrixLayout result{layout.cols, layout.rows, {}};
  for (const Box& box : layout.boxes) result.boxes.push_back(transposed(box));
  return result;
}

MatrixLayout in_bytes(const MatrixLayout& layout, index_t bytes) {
  MatrixLayout result{layout.rows, layout.cols * bytes, {}};
  for (const Box& box : layout.boxes) {
    result.boxes.push_back({box.rows, {box.cols.begin * bytes, box.cols.end * bytes}});
  }
  return result;
}

index_t resident_bytes(const Box& box, index_t cols, index_t element_bytes, index_t around) {
  if (box.empty()) return 0;
  const index_t row = cols * element_bytes, run = box.cols.size() * element_bytes;
  return box.rows.size() * std::min(row, run + (run < row ? around : 0));
}

std::vector<PeerBlock> outgoing(const MatrixLayout& home, const MatrixLayout& need, index_t rank) {
  return overlaps(home.of(rank), need.boxes);
}

std::vector<PeerBlock> incoming(const MatrixLayout& home, const MatrixLayout& need, index_t rank) {
  return overlaps(need.of(rank), home.boxes);
}

}  // namespace tessera::inline v1::layout
