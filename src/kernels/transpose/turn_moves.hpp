#pragma once
// Loads of a tile from a and stores to b for rows at any alignment. Loads: every row in the aligned
// 16-byte vectors that contain it; the tile keeps the row's shift against 16 bytes, which column
// reads compensate. Stores: every row of b in windows aligned to whole memory sectors, which hold
// different records of a for each row of b; the tile therefore has a few more rows of a than it
// writes. All memory accesses go through a `Move`: the device's, or that of an instrumented test.

#include <cstddef>
#include <cstdint>

#include "kernels/transpose/turn_tile.hpp"

namespace tessera::inline v1::transpose {

/// A 16-byte vector, the unit of device accesses, as words of 1 to 16 bytes.
struct alignas(16) Vec16 {
  unsigned words[4];
};
template <int bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = unsigned char;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<8> {
  using Type = unsigned long long;
};
template <>
struct WordOf<16> {
  using Type = Vec16;
};
template <int bytes>
using Word = typename WordOf<bytes>::Type;

/// A transposition: two matrices, strides in bytes.
struct TurnTask {
  const std::byte* a;
  index_t a_stride;
  std::byte* b;
  index_t b_stride;
  index_t rows, cols;  ///< of a
  unsigned down;       ///< tiles in a column of tiles
};

/// One tile of a TurnTask. Row 0 of the tile is `extra` rows above its place in the matrix, and may
/// not exist.
struct TilePart {
  const std::byte* a;  ///< record (0, 0) of the tile
  index_t a_stride;
  std::byte* b;  ///< address of column 0 of the tile in b, without the extra rows
  index_t b_stride;
  int row_begin, row_end;  ///< rows of the tile that exist
  int cols;                ///< columns that exist
  int left, right;         ///< range of bytes relative to the first column that belong to a's rows
};

/// Returns the number of extra rows of a in a tile for windows of `window` bytes; 0: rows of b are
/// aligned to 16 bytes.
template <class Tile>
TESSERA_HD constexpr int extra_rows(int window) {
  return window == 0 ? 0 : window / Tile::bytes - 1;
}

/// Returns tile `number`, down the columns of tiles first, so that rows of b are completed in
/// sequence.
template <class Tile, int window>
[[nodiscard]] TESSERA_DEVICE TilePart part_of(const TurnTask& task, unsigned number) {
  constexpr int extra = extra_rows<Tile>(window);
  const index_t i = index_t{number % task.down} * Tile::rows,
                j = index_t{number / task.down} * Tile::cols;
  const index_t above = i < extra ? i : extra;
  const index_t below = task.rows - i < Tile::rows ? task.rows - i : Tile::rows;
  const index_t right = task.cols - j < Tile::cols ? task.cols - j : Tile::cols;
  return {task.a + (i - extra) * task.a_stride + j * Tile::bytes,
          task.a_stride,
          task.b + j * task.b_stride + i * Tile::bytes,
          task.b_stride,
          extra - static_cast<int>(above),
          extra + static_cast<int>(below),
          static_cast<int>(right),
          j == 0 ? 0 : -16,
          static_cast<int>((task.cols - j < Tile::cols + Tile::vector ? task.cols - j
                                                                      : Tile::cols + Tile::vector) *
                           Tile::bytes)};
}

/// Returns the bytes of an address beyond a multiple of `unit`.
[[nodiscard]] TESSERA_DEVICE int beyond(const std::byte* at, int unit) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % static_cast<unsigned>(unit));
}

/// Returns the offset of row `row` against 16 bytes, the same in the tile as in memory.
[[nodiscard]] TESSERA_DEVICE int shift_of(const TilePart& part, int row) {
  return (beyond(part.a, 16) + row * static_cast<int>(part.a_stride % 16)) % 16;
}

/// Loads rows of a into the tile by vectors, except vectors that contain bytes outside a. Whole
/// warps, or equal parts of a warp, read a row, so a line is requested once; the extra vector of an
/// unaligned row follows.
template <class Tile, bool on_vectors, int window, class Move>
TESSERA_DEVICE void load_vectors(int thread, const TilePart& part, const Move& move) {
  constexpr int rows = Tile::rows + extra_rows<Tile>(window), lanes = Tile::in / 16;
  constexpr int rows_at_once = Tile::threads / lanes;
  const int bytes = part.cols * Tile::bytes,
            last = bytes <= part.right - 16 ? bytes - 1 : part.right - 16;
  const auto load = [&](int row, int slot, const std::byte* from) {
    const int at = 16 * slot - (on_vectors ? 0 : beyond(from, 16));  // offset from the first column
                                                                     // of the tile
    if (row >= part.row_begin && row < part.row_end && at >= part.left && at <= last)
      move.copy_vector(Tile::offset(row, 16 * slot), from + at);
  };
  const int first = thread / lanes;
  const std::byte* from = part.a + first * part.a_stride;
  TESSERA_UNROLL(8)
  for (int k = 0; k < rows; k += rows_at_once, from += rows_at_once * part.a_stride)
    load(first + k, thread % lanes, from);
  if constexpr (!on_vectors) {
    for (int row = thread; row < rows; row += Tile::threads)
      load(row, lanes, part.a + row * part.a_stride);
  }
}

/// Loads the records that load_vectors omits, where rows of a begin and end, one row per thread.
template <class Tile, int window, class Move>
TESSERA_DEVICE void load_ends(int thread, const TilePart& part, const Move& move) {
  if (part.left < 0 && part.right >= Tile::in + 16) return;
  for (int row = part.row_begin + thread; row < part.row_end; row += Tile::threads) {
    const std::byte* const from = part.a + row * part.a_stride;
    const int shift = beyond(from, 16), to = Tile::offset(row, shift);
    const int begins = part.left < 0 || shift == 0 ? 0
                       : 16 - shift < part.right   ? 16 - shift
                                                   : part.right;
    const int ends = part.right - beyond(from + part.right, 16), cols = part.cols * Tile::bytes;
    const auto copy = [&](int first, int last) {
      TESSERA_UNROLL(1)
      for (int at = first; at < last; at += Tile::bytes)
        move.template copy_record<Tile::bytes>(to + at, from + at);
    };
    copy(0, begins);
    copy(ends > begins ? ends : begins, ends < cols ? part.right : 0);
  }
}

/// Returns the word at any offset of the tile that is a multiple of the record size.
template <class Tile, bool on_vectors, class Move>
[[nodiscard]] TESSERA_DEVICE Word<Tile::word> word_at(int offset, const Move& move) {
  if constexpr (on_vectors || Tile::bytes >= 4) {
    return move.template read<Tile::word>(offset);
  } else {
    const int off = offset % 4, from = offset - off;
    return move.join(move.template read<4>(from), move.template read<4>(from + 4), 8 * off);
  }
}

/// Transposes a patch: word r holds its row r, vector c of the result holds its column c.
template <class Move>
TESSERA_DEVICE void turn(const unsigned (&rows)[16], Vec16 (&columns)[4],
                         const Move& move) {  // records of 1 byte
  TESSERA_UNROLL(4)
  for (int q = 0; q < 4; ++q) {
    const unsigned low01 = move.pick(rows[4 * q], rows[4 * q + 1], 0x5140),
                   low23 = move.pick(rows[4 * q + 2], rows[4 * q + 3], 0x5140),
                   high01 = move.pick(rows[4 * q], rows[4 * q + 1], 0x7362),
                   high23 = move.pick(rows[4 * q + 2], rows[4 * q + 3], 0x7362);
    columns[0].words[q] = move.pick(low01, low23, 0x5410);
    columns[1].words[q] = move.pick(low01, low23, 0x7632);
    columns[2].words[q] = move.pick(high01, high23, 0x5410);
    columns[3].words[q] = move.pick(high01, high23, 0x7632);
  }
}
template <class Move>
TESSERA_DEVICE void turn(const unsigned (&rows)[8], Vec16 (&columns)[2],
                         const Move& move) {  // records of 2 bytes
  TESSERA_UNROLL(4)
  for (int q = 0; q < 4; ++q) {
    columns[0].words[q] = move.pick(rows[2 * q], rows[2 * q + 1], 0x5410);
    columns[1].words[q] = move.pick(rows[2 * q], rows[2 * q + 1], 0x7632);
  }
}

/// Concatenates records to a vector.
[[nodiscard]] TESSERA_DEVICE Vec16 joined(const Vec16 (&records)[1]) { return records[0]; }
template <class Record, int count>
[[nodiscard]] TESSERA_DEVICE Vec16 joined(const Record (&records)[count]) {
  Vec16 v{};
  TESSERA_UNROLL(16)
  for (int r = 0; r < count; ++r) {
    constexpr int bytes = 16 / count;
    if constexpr (bytes == 8) {
      v.words[2 * r] = static_cast<unsigned>(records[r]);
      v.words[2 * r + 1] = static_cast<unsigned>(records[r] >> 32);
    } else {
      v.words[r * bytes / 4] |= static_cast<unsigned>(records[r]) << (8 * (r * bytes % 4));
    }
  }
  return v;
}
/// Returns record `index`, a compile-time constant, of a vector.
template <int bytes>
[[nodiscard]] TESSERA_DEVICE Word<bytes> record_of(const Vec16& v, int index) {
  if constexpr (bytes == 16)
    return v;
  else if constexpr (bytes == 8)
    return v.words[2 * index] | static_cast<unsigned long long>(v.words[2 * index + 1]) << 32;
  else
    return static_cast<Word<bytes>>(v.words[index * bytes / 4] >> (8 * (index * bytes % 4)));
}

/// Stores the records of a vector that are in [begin, end).
template <int bytes, class Move>
TESSERA_DEVICE void store_vector(std::byte* to, const Vec16& v, int begin, int end,
                                 const Move& move) {
  if (begin <= 0 && end >= 16 / bytes) return move.store_vector(to, v);
  TESSERA_UNROLL(16)
  for (int r = 0; r < 16 / bytes; ++r)
    if (r >= begin && r < end)
      move.template store_record<bytes>(to + r * bytes, record_of<bytes>(v, r));
}

/// Stores columns of the tile into rows of b that are aligned to 16 bytes.
template <class Tile, bool on_vectors, class Move>
TESSERA_DEVICE void store_patches(int thread, const TilePart& part, const Move& move) {
  TESSERA_UNROLL(2)
  for (int k = 0; k < Tile::patches; k += Tile::threads) {
    const auto patch = Tile::patch(k + thread);
    const int row = patch.group * Tile::vector, at = patch.word * Tile::word;
    Word<Tile::word> rows[Tile::vector];
    TESSERA_UNROLL(16)
    for (int r = 0; r < Tile::vector; ++r) {  // shifts repeat after `vector` rows
      const int shift = on_vectors ? 0 : shift_of(part, r);
      rows[r] = word_at<Tile, on_vectors>(Tile::offset(row, at) + r * Tile::pitch + shift, move);
    }
    Vec16 columns[Tile::per_word];
    if constexpr (Tile::per_word > 1)
      turn(rows, columns, move);
    else
      columns[0] = joined(rows);
    const int col = patch.word * Tile::per_word;
    std::byte* to = part.b + col * part.b_stride + patch.group * 16;
    TESSERA_UNROLL(4)
    for (int c = 0; c < Tile::per_word; ++c, to += part.b_stride)
      if (col + c < part.cols)
        store_vector<Tile::bytes>(to, columns[c], 0, part.row_end - row, move);
  }
}

/// Stores the same for rows of b at any alignment, in windows.
template <class Tile, bool on_vectors, int window, class Move>
TESSERA_DEVICE void store_windows(int thread, const TilePart& part, const Move& move) {
  TESSERA_UNROLL(2)
  for (int k = 0; k < Tile::vectors; k += Tile::threads) {
    const int group = (k + thread) % Tile::groups, col = (k + thread) / Tile::groups;
    if (col >= part.cols) continue;
    std::byte* const line = part.b + col * part.b_stride;
    const int before = beyond(line, window);
    const int row = extra_rows<Tile>(window) - before / Tile::bytes + group * Tile::vector;
    Word<Tile::bytes> records[Tile::vector];
    TESSERA_UNROLL(16)
    for (int r = 0; r < Tile::vector; ++r) {
      const int shift = on_vectors ? 0 : shift_of(part, row + r);
      records[r] =
          move.template read<Tile::bytes>(Tile::offset(row + r, col * Tile::bytes + shift));
    }
    store_vector<Tile::bytes>(line - before + group * 16, joined(records), part.row_begin - row,
                              part.row_end - row, move);
  }
}

}  // namespace tessera::inline v1::transpose
