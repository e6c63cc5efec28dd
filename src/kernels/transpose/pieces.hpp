#pragma once
// The division of a matrix into pieces for out-of-core transposition on a device: pure arithmetic.

#include "kernels/transpose/walks.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::transpose {

/// The pieces of a rows x cols matrix, row by row; the last ones may be smaller.
struct Pieces {
  index_t rows = 0, cols = 0;  ///< of the matrix
  Submatrix piece;             ///< an interior piece
  index_t bytes = 1;           ///< of a record

  [[nodiscard]] index_t down() const { return ceil_div(rows, piece.rows); }
  [[nodiscard]] index_t right() const { return ceil_div(cols, piece.cols); }
  [[nodiscard]] index_t count() const { return down() * right(); }
  [[nodiscard]] Submatrix of(index_t number) const {
    const Cell cell = row_order(number, right());
    const index_t i = cell.i * piece.rows, j = cell.j * piece.cols;
    return {i, j, std::min(piece.rows, rows - i), std::min(piece.cols, cols - j)};
  }
  /// Returns the device bytes of a block with rows aligned to 16 bytes, and of its transpose.
  [[nodiscard]] index_t in_bytes(const Submatrix& block) const {
    return block.rows * machine::device_ld(block.cols, bytes) * bytes;
  }
  [[nodiscard]] index_t out_bytes(const Submatrix& block) const {
    return block.cols * machine::device_ld(block.rows, bytes) * bytes;
  }
};

/// Returns pieces of at most most_bytes each way (but at least one record). Halves the longer side,
/// so that runs in both matrices are as long as possible; edges are multiples of 64 records, the
/// kernels' tiles, while they are longer.
[[nodiscard]] inline Pieces plan_pieces(index_t rows, index_t cols, index_t bytes,
                                        index_t most_bytes) {
  Pieces p{rows, cols, {0, 0, rows, cols}, bytes};
  const auto half = [](index_t length) { return halve(length, length > 64 ? 64 : 1); };
  while (std::max(p.in_bytes(p.piece), p.out_bytes(p.piece)) > most_bytes &&
         std::max(p.piece.rows, p.piece.cols) > 1) {
    index_t& longer = p.piece.rows >= p.piece.cols ? p.piece.rows : p.piece.cols;
    longer = half(longer);
  }
  return p;
}

}  // namespace tessera::inline v1::transpose
