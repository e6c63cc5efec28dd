#pragma once
// Where the records of a tile lie in a device's shared memory, and which thread moves which of
// them: pure arithmetic, the same for the kernel and for the tests of its bank conflicts.

#include "kernels/transpose/remap.hpp"

namespace tessera::transpose {

/// A tile whose rows take `in_bytes` in a and whose columns take `out_bytes` in b, moved by
/// `thread_count` threads. Row after row with one vector of 16 bytes more than it needs, because a
/// row that begins off 16 bytes lies here as it lies in memory, in whole vectors; and another after
/// each `vector` rows. With that pitch eight threads that read the same column of successive groups
/// of `vector` rows meet all 32 banks.
template <int record_bytes, int in_bytes, int out_bytes, int thread_count>
struct TurnTile {
  static constexpr int bytes = record_bytes, in = in_bytes, out = out_bytes, threads = thread_count;
  static constexpr int vector = 16 / bytes;                    // records in 16 bytes
  static constexpr int rows = out / bytes, cols = in / bytes;  // of a
  static constexpr int groups = rows / vector;                 // vectors in a row of b
  static constexpr int vectors = groups * cols;                // of b
  // Records shorter than a bank's 4 bytes are read several at once: a patch of `vector` rows and
  // `per_word` columns becomes that many vectors of b in registers.
  static constexpr int word = bytes < 4 ? 4 : bytes;
  static constexpr int per_word = word / bytes;
  static constexpr int words = in / word;  // in a row
  static constexpr int patches = groups * words;
  static_assert(in % 128 == 0 && out % 128 == 0 && patches % threads == 0 && threads % 32 == 0);

  static constexpr int pitch = in + 16, gap = vector > 1 ? 16 : 0;
  /// Where byte `at` of a row lies, from the beginning of the tile; `at` up to in + 15.
  [[nodiscard]] TESSERA_HD static constexpr int offset(int row, int at) {
    return row * pitch + static_cast<int>(static_cast<unsigned>(row) / vector) * gap + at;
  }
  /// Bytes of a tile with so many rows more.
  [[nodiscard]] static constexpr int size(int extra) { return offset(rows + extra, 0) + gap; }

  struct Patch {
    int group;  ///< of `vector` rows
    int word;   ///< of a row
  };
  /// Patch `number`: eight threads fill 128 bytes of a row of b, and read four words' columns as a
  /// warp.
  [[nodiscard]] TESSERA_HD static constexpr Patch patch(int number) {
    constexpr int groups_high = groups / 8;
    const int high = number / 32;
    return {number % 8 + high % groups_high * 8, number / 8 % 4 + high / groups_high * 4};
  }
};

}  // namespace tessera::transpose
