#pragma once
// A matrix cut into pieces that go through a device one by one: pure arithmetic.

#include "kernels/transpose/walks.hpp"
#include "machine/gpu.hpp"

namespace tessera::transpose {

/// The pieces of a rows x cols matrix, row by row; those at its ends may be smaller.
struct Pieces {
  index_t rows = 0, cols = 0;  ///< of the matrix
  Block piece;                 ///< a whole one
  index_t bytes = 1;           ///< of a record

  [[nodiscard]] index_t down() const { return ceil_div(rows, piece.rows); }
  [[nodiscard]] index_t right() const { return ceil_div(cols, piece.cols); }
  [[nodiscard]] index_t count() const { return down() * right(); }
  [[nodiscard]] Block of(index_t number) const {
    const Cell cell = row_order(number, right());
    const index_t i = cell.i * piece.rows, j = cell.j * piece.cols;
    return {i, j, std::min(piece.rows, rows - i), std::min(piece.cols, cols - j)};
  }
  /// The bytes of a block with rows on 16 bytes, and of its transpose.
  [[nodiscard]] index_t in_bytes(const Block& block) const {
    return block.rows * machine::device_ld(block.cols, bytes) * bytes;
  }
  [[nodiscard]] index_t out_bytes(const Block& block) const {
    return block.cols * machine::device_ld(block.rows, bytes) * bytes;
  }
};

/// Pieces of at most most_bytes each way (but at least one record): the longer side halved, so that
/// runs in both matrices are as long as they can be; multiples of 64 records, the tiles of kernels,
/// while they are longer.
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

}  // namespace tessera::transpose
