#pragma once
// Which rank holds which block of a matrix, and what two such layouts have in common.

#include <string>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::layout {

/// rows x cols of a matrix, in global indices.
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
/// "[0:10, 5:20)" for messages and plans.
[[nodiscard]] std::string text(const Box& box);

/// ranks as a rows x cols grid, rank = row * cols + col.
struct ProcessGrid {
  index_t rows = 1;
  index_t cols = 1;
  [[nodiscard]] index_t size() const { return rows * cols; }
  [[nodiscard]] index_t row(index_t rank) const { return rank / cols; }
  [[nodiscard]] index_t col(index_t rank) const { return rank % cols; }
  [[nodiscard]] index_t rank(index_t r, index_t c) const { return r * cols + c; }
};

/// The grid of exactly `ranks` ranks whose blocks of an m x n matrix are nearest to squares.
[[nodiscard]] ProcessGrid nearest_square(index_t ranks, index_t m, index_t n);

/// One box a rank (possibly empty). As a home the boxes are disjoint and cover the matrix; as a
/// need they may overlap and leave parts out.
struct MatrixLayout {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<Box> boxes;  ///< by rank

  [[nodiscard]] index_t ranks() const { return static_cast<index_t>(boxes.size()); }
  [[nodiscard]] const Box& of(index_t rank) const { return boxes[static_cast<std::size_t>(rank)]; }
  friend bool operator==(const MatrixLayout&, const MatrixLayout&) = default;
};

/// Blocks of whole rows: how files are read and written.
[[nodiscard]] MatrixLayout row_blocks(index_t rows, index_t cols, index_t ranks);
/// The same where offsets, one more than ranks, say where the rows of each begin.
[[nodiscard]] MatrixLayout row_blocks(index_t rows, index_t cols,
                                      const std::vector<index_t>& offsets);
/// The row map by the column map over a grid.
[[nodiscard]] MatrixLayout grid_blocks(const BlockMap& rows, const BlockMap& cols,
                                       const ProcessGrid& grid);

/// The same blocks of the transposed matrix on the same ranks.
[[nodiscard]] MatrixLayout transposed(const MatrixLayout& layout);
/// The layout of the bytes of elements of `bytes` bytes: every column becomes so many.
[[nodiscard]] MatrixLayout in_bytes(const MatrixLayout& layout, index_t bytes);

/// Bytes of a row-major matrix of so many columns that become resident where a box of it is
/// touched, and every touch brings the `around` bytes that it falls into: a page, or as many as the
/// kernel maps around it.
[[nodiscard]] index_t resident_bytes(const Box& box, index_t cols, index_t element_bytes,
                                     index_t around);

/// A block that goes to, or comes from, a peer.
struct PeerBlock {
  index_t peer = 0;
  Box box;
  friend bool operator==(const PeerBlock&, const PeerBlock&) = default;
};

/// What `rank` sends when data moves from the home to the need, in the order of the peers; itself
/// included.
[[nodiscard]] std::vector<PeerBlock> outgoing(const MatrixLayout& home, const MatrixLayout& need,
                                              index_t rank);
/// What `rank` receives; the mirror image of outgoing.
[[nodiscard]] std::vector<PeerBlock> incoming(const MatrixLayout& home, const MatrixLayout& need,
                                              index_t rank);

/// Elements that `rank` receives from others.
[[nodiscard]] index_t received_elements(const MatrixLayout& home, const MatrixLayout& need,
                                        index_t rank);

}  // namespace tessera::layout
