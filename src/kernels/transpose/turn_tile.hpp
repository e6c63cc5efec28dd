#pragma once
// The layout of a tile in a device's shared memory and the assignment of records to threads: pure
// arithmetic, shared by the kernel and the tests of its bank conflicts.

#include "kernels/transpose/remap.hpp"

namespace tessera::inline v1::transpose {

/// A tile whose rows take `in_bytes` in a and whose columns take `out_bytes` in b, moved by
/// `thread_count` threads. Each row is padded by one 16-byte vector, because an unaligned row is
/// stored here in whole vectors as in memory; each group of `vector` rows is padded by another.
/// With that pitch, eight threads that read the same column of successive groups of `vector` rows
/// access all 32 banks without conflict.
template <int record_bytes, int in_bytes, int out_bytes, int thread_count>
struct TurnTile {
  static constexpr int bytes = record_bytes, in = in_bytes, out = out_bytes, threads = thread_count;
  static constexpr int vector = 16 / bytes;                    // records in 16 bytes
  static constexpr int rows = out / bytes, cols = in / bytes;  // of a
  static constexpr int groups = rows / vector;                 // vectors in a row of b
  static constexpr int vectors = groups * cols;                // of b
  // Records shorter than a bank's 4 bytes are read several at once: a patch of `vector` rows and
  // `per_word` columns becomes `per_word` vectors of b in registers.
  static constexpr int word = bytes < 4 ? 4 : bytes;
  static constexpr int per_word = word / bytes;
  static constexpr int words = in / word;  // in a row
  static constexpr int patches = groups * words;
  static_assert(in % 128 == 0 && out % 128 == 0 && patches % threads == 0 && threads % 32 == 0);

  static constexpr int pitch = in + 16, gap = vector > 1 ? 16 : 0;
  /// Returns the offset of byte `at` of a row from the beginning of the tile; `at` up to in + 15.
  [[nodiscard]] TESSERA_HD static constexpr int offset(int row, int at) {
    return row * pitch + static_cast<int>(static_cast<unsigned>(row) / vector) * gap + at;
  }
  /// Returns the bytes of a tile with `extra` extra rows.
  [[nodiscard]] static constexpr int size(int extra) { return offset(rows + extra, 0) + gap; }

  struct Patch {
    int group;  ///< of `vector` rows
    int word;   ///< of a row
  };
  /// Returns patch `number`: eight threads fill 128 bytes of a row of b, and a warp reads the
  /// columns of four words.
  [[nodiscard]] TESSERA_HD static constexpr Patch patch(int number) {
    constexpr int groups_high = groups / 8;
    const int high = number / 32;
    return {number % 8 + high % groups_high * 8, number / 8 % 4 + high / groups_high * 4};
  }
};

}  // namespace tessera::inline v1::transpose
