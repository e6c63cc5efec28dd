#pragma once
// Distribution of a matrix over ranks in blocks, and the overlaps of two such layouts.

#include <string>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::inline v1::layout {

/// A block, rows x cols, in global indices.
struct Box {
  Range rows;
  Range cols;
  [[nodiscard]] index_t area() const { return rows.size() * cols.size(); }
  [[nodiscard]] bool empty() const { return rows.empty() || cols.empty(); }
  friend bool operator==(const Box&, const Box&) = default;
};

[[nodiscard]] inline Box intersect(const Box& a, const Box& b) {
  return {intersect(a.rows, b.rows), intersect(a.cols, b.cols)};
}
[[nodiscard]] inline Box transposed(const Box& box) { return {box.cols, box.rows}; }
/// Formats a box for messages and plans: "[0:10, 5:20)".
[[nodiscard]] std::string text(const Box& box);

/// The ranks as a rows x cols grid: rank = row * cols + col.
struct ProcessGrid {
  index_t rows = 1;
  index_t cols = 1;
  [[nodiscard]] index_t size() const { return rows * cols; }
  [[nodiscard]] index_t row(index_t rank) const { return rank / cols; }
  [[nodiscard]] index_t col(index_t rank) const { return rank % cols; }
  [[nodiscard]] index_t rank(index_t r, index_t c) const { return r * cols + c; }
};

/// Returns the grid of exactly `ranks` ranks whose blocks of an m x n matrix are nearest to
/// squares.
[[nodiscard]] ProcessGrid nearest_square(index_t ranks, index_t m, index_t n);

/// One box per rank, possibly empty. The boxes of a home are disjoint and cover the matrix; those
/// of a need may overlap and leave parts out.
struct MatrixLayout {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<Box> boxes;  ///< by rank

  [[nodiscard]] index_t ranks() const { return static_cast<index_t>(boxes.size()); }
  [[nodiscard]] const Box& of(index_t rank) const { return boxes[static_cast<std::size_t>(rank)]; }
  friend bool operator==(const MatrixLayout&, const MatrixLayout&) = default;
};

/// Returns blocks of whole rows, the layout in which files are read and written.
[[nodiscard]] MatrixLayout row_blocks(index_t rows, index_t cols, index_t ranks);
/// Returns blocks of whole rows; offsets (ranks + 1 values) holds the first row of each block, then
/// `rows`. Throws Error(usage).
[[nodiscard]] MatrixLayout row_blocks(index_t rows, index_t cols,
                                      const std::vector<index_t>& offsets);
/// Returns the product of a row map and a column map on a grid. Throws Error(usage) if their parts
/// do not match the grid.
[[nodiscard]] MatrixLayout grid_blocks(const BlockMap& rows, const BlockMap& cols,
                                       const ProcessGrid& grid);

/// Returns the same blocks of the transposed matrix on the same ranks.
[[nodiscard]] MatrixLayout transposed(const MatrixLayout& layout);
/// Returns the layout in bytes of elements of `bytes` bytes: column ranges scale by `bytes`.
[[nodiscard]] MatrixLayout in_bytes(const MatrixLayout& layout, index_t bytes);

/// Returns the resident bytes of a row-major matrix of `cols` columns after a box of it is touched,
/// if every run of a row also loads up to `around` bytes next to it: a page, or the kernel's
/// fault-around window.
[[nodiscard]] index_t resident_bytes(const Box& box, index_t cols, index_t element_bytes,
                                     index_t around);

/// A block that is sent to or received from a peer.
struct PeerBlock {
  index_t peer = 0;
  Box box;
  friend bool operator==(const PeerBlock&, const PeerBlock&) = default;
};

/// Returns the blocks that `rank` sends when data moves from the home to the need, in the order of
/// the peers, including `rank` itself.
[[nodiscard]] std::vector<PeerBlock> outgoing(const MatrixLayout& home, const MatrixLayout& need,
                                              index_t rank);
/// Returns the blocks that `rank` receives: the mirror image of outgoing.
[[nodiscard]] std::vector<PeerBlock> incoming(const MatrixLayout& home, const MatrixLayout& need,
                                              index_t rank);

}  // namespace tessera::inline v1::layout
