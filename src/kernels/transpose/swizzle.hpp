#pragma once
// Where the records of a tile lie in a device's shared memory, and which thread moves which of them: pure
// arithmetic, the same for the kernel and for the tests of its bank conflicts.

#include "kernels/transpose/remap.hpp"

namespace tessera::transpose {

/// In which direction the rows of b are written from the tile.
enum class Out {
  vectors,  ///< 16 bytes a thread
  records,  ///< one record a thread: rows of b do not begin on 16 bytes
};

/// A square tile of records whose rows take `segment` bytes both in a and in b. Its rows lie one after the
/// other, in slots of 16 bytes that are permuted within each 128 bytes: reading a row and reading a column
/// both meet all 32 banks, without a padding that would cost the alignment of 16 bytes.
template <int record_bytes, int segment_bytes, Out out>
struct TurnTile {
  static constexpr int bytes = record_bytes, segment = segment_bytes;
  static constexpr int vector = 16 / bytes;     // records in 16 bytes
  static constexpr int edge = segment / bytes;  // records along either side
  static constexpr int slots = segment / 16;    // in a row; as many groups of `vector` rows there are
  static constexpr int size = edge * segment;   // bytes in all
  // Records shorter than a bank's 4 bytes are read several at once: a patch of `vector` rows and `per_word`
  // columns becomes that many vectors of b in registers.
  static constexpr int word = bytes < 4 ? 4 : bytes;
  static constexpr int per_word = word / bytes;
  static constexpr int words = segment / word;   // in a row
  static constexpr int patches = slots * words;  // by vectors
  static constexpr int columns = edge * words;   // by records
  static constexpr int threads = slots * edge < 256 ? slots * edge : 256;
  static_assert(slots % 8 == 0 && words % 4 == 0 && patches % threads == 0 && columns % threads == 0);
  static_assert(threads % slots == 0 && edge % (threads / slots) == 0);

  /// The rows that one thread reads together share a rotation, so that they differ by a constant; those that
  /// eight neighbouring threads read have eight different ones.
  [[nodiscard]] TESSERA_HD static constexpr int rotation(int row) {
    return (out == Out::vectors ? row / vector : row) % 8;
  }
  /// Where byte `at` of a row lies, from the beginning of the tile.
  [[nodiscard]] TESSERA_HD static constexpr int offset(int row, int at) {
    return row * segment + ((at / 16) ^ rotation(row)) * 16 + at % 16;
  }

  struct Patch {
    int group;  ///< of `vector` rows
    int word;   ///< of a row
  };
  /// Patch `number`: eight threads fill 128 bytes of a row of b, and read four words' columns as a warp.
  [[nodiscard]] TESSERA_HD static constexpr Patch patch(int number) {
    const int high = number / 32, groups_high = slots / 8;
    return {number % 8 + high % groups_high * 8, number / 8 % 4 + high / groups_high * 4};
  }
  /// Word `number` of those that leave record by record: neighbouring threads write neighbouring records of
  /// b.
  [[nodiscard]] TESSERA_HD static constexpr Cell column(int number) { return {number % edge, number / edge}; }
};

/// In which order the tiles of a matrix are taken.
enum class TileWalk {
  rows,      ///< along the rows of a
  columns,   ///< along the rows of b
  strips,    ///< along the rows of a, in strips of 16 tiles
  diagonal,  ///< no two neighbours in time share a row or a column
};

/// Tile `number` of down x right.
[[nodiscard]] TESSERA_HD constexpr Cell tile_of(TileWalk walk, index_t number, index_t down, index_t right) {
  if (walk == TileWalk::rows) return row_order(number, right);
  if (walk == TileWalk::diagonal) return diagonal_order(number, down, right);
  if (walk == TileWalk::strips) return column_order(number, down, right, 16);
  return {number % down, number / down};
}

}  // namespace tessera::transpose
