#pragma once
// Panels of squares (squares.hpp), their order, and the stores of their lines to b. Only for
// leaf.cpp and the file that reports the accesses of its kernels.

#include "kernels/transpose/leaf.hpp"

#include "kernels/transpose/narrow.hpp"

namespace tessera::inline v1::transpose::TESSERA_ISA {
namespace {

/// The prefetch distance within a row, in bytes.
constexpr index_t prefetch_bytes = 512;

/// Squares above each other in a panel of carried or streamed lines: a run of two lines is as fast
/// as a longer one on Zen 5 and Emerald Rapids, and reading three or four rows per stream is slower
/// (f32 8192 x 8192, two and three squares, 37 and 30 GB/s; 17 and 13). Streamed panels that
/// prefetch into the second level have three: Zen 4, two and three, f32 4000 x 4000 32 and 37, 8000
/// x 8000 28.5 and 33.4, 8192 x 8192 27 and 29, f64 42 and 40, 36 and 38, 34 and 35; carried f32
/// 8001 x 8001 32 and 30. Each is unrolled with separate loads: prefetchers distinguish streams by
/// instruction address (two squares in one loop body: 35 to 40 GB/s of f64 on Zen 5; the same
/// squares through one copy of the code: 26).
template <int Bytes, Store Kind, Ahead To>
inline constexpr int squares_in_panel = Bytes == 1 || (Kind == Store::streaming &&
                                                       To == Ahead::second_level)
                                            ? 3
                                            : 2;

/// Transposes a panel of squares from left to right directly into b by ordinary stores, and
/// prefetches the rows of the next panel.
template <int Bytes, int Squares>
[[gnu::always_inline]] inline void plain_panel(const std::byte* a, index_t a_stride, std::byte* b,
                                               index_t b_stride, index_t cols) {
  constexpr index_t side = line_bytes / Bytes;
  const auto squares = [&](const std::byte* from, std::byte* to) {
#pragma GCC unroll 4
    for (int q = 0; q < Squares; ++q)
      line_square<Bytes, Put::target>(from + q * side * a_stride, a_stride, to + q * line_bytes,
                                      b_stride);
    const index_t stride = unknown(a_stride);
    for (index_t r = 0; r < Squares * side; ++r)
      __builtin_prefetch(from + (Squares * side + r) * stride);
  };
  const index_t whole = cols / side * side;
  for (index_t j = 0; j < whole; j += side) squares(a + j * Bytes, b + j * b_stride);
  if (whole < cols) squares(a + (cols - side) * Bytes, b + (cols - side) * b_stride);
}

/// Transposes the squares of a panel at column `at` into a stage with row stride `pitch`, and
/// prefetches the next lines of a into level `To`: prefetch_bytes to the right of column j, or
/// beyond the end of the panel from `next` on, unless that is null.
template <int Bytes, int Squares, Ahead To>
[[gnu::always_inline]] inline void stage_squares(const std::byte* a, index_t a_stride, index_t j,
                                                 index_t at, index_t cols, const std::byte* next,
                                                 std::byte* stage, index_t pitch) {
  constexpr index_t side = line_bytes / Bytes;
  constexpr int keep_near = To == Ahead::first_level ? 3 : 2;
  const bool prefetches = next != nullptr;
  const index_t beyond = (j - cols) * Bytes + prefetch_bytes;
  const std::byte* const ahead = beyond < 0 ? a + j * Bytes + prefetch_bytes : next + beyond;
#pragma GCC unroll 4
  for (int q = 0; q < Squares; ++q) {
    line_square<Bytes, Put::stage>(a + q * side * a_stride + at * Bytes, a_stride,
                                   stage + q * line_bytes, pitch);
    for (index_t r = q * side; prefetches && r < (q + 1) * side; ++r)
      __builtin_prefetch(ahead + r * a_stride, 0, keep_near);
  }
}

/// Transposes a panel of squares from left to right through a stage, from which the lines of a row
/// of b are stored consecutively, as memory prefers writes. `next`: where reading continues after
/// the panel. (Squares of 1 and 2 bytes are slower this way, 0.8 of their rate, except where rows
/// of b share few sets: u16 4096 x 4096 0.55 -> 0.71 of memcpy, u8 16000 x 16000 0.75 -> 0.84.)
template <int Bytes, int Squares, Ahead To>
void staged_panel(const std::byte* a, index_t a_stride, std::byte* b, index_t b_stride,
                  index_t cols, const std::byte* next) {
  constexpr index_t side = line_bytes / Bytes;
  constexpr index_t run = Squares * line_bytes;
  alignas(line_bytes) std::byte stage[side * run];
  for (index_t j = 0; j < cols; j += side) {
    const index_t at = square_column<Bytes>(j, cols);
    stage_squares<Bytes, Squares, To>(a, a_stride, j, at, cols, next, stage, run);
    for (index_t r = 0; r < side; ++r)
      stream_lines(b + (at + r) * b_stride, stage + r * run, Squares);
  }
}

/// The partial lines at the ends of the columns of a strip read so far: the panel below completes
/// them to whole lines of b. If a leaf has whole, contiguous rows of b, the partial lines at the
/// beginnings of rows are also kept, for the end of the previous row.
struct Carry {
  static constexpr index_t columns = most_carried_columns;
  alignas(line_bytes) std::byte lines[columns * line_bytes];
  alignas(line_bytes) std::byte heads[columns * line_bytes];
  bool joins;
  bool shifts;  ///< every row of b is aligned to 4 bytes

  [[nodiscard]] std::byte* line(index_t column) { return lines + column * line_bytes; }
  [[nodiscard]] std::byte* head(index_t column) { return heads + column * line_bytes; }
};

/// Streams `Lines` lines, each of which begins with the last `past` bytes of the previous one and
/// ends with its remaining bytes. One shuffle of two vectors replaces a load across both, which
/// would stall until the stores that wrote them have reached the cache (Emerald Rapids, one core:
/// f32 4001 x 4000 23.6 -> 28.5 GB/s, f64 27.7 -> 31.5).
template <int Lines>
[[gnu::always_inline]] inline void stream_shifted(std::byte* to, const std::byte* line_before,
                                                  const std::byte* row, index_t past) {
  const Shift shift(line_bytes - past);
  Wide<block_count> before = stage_vector(line_before);
#pragma GCC unroll 4
  for (int k = 0; k < Lines; ++k) {
    const Wide<block_count> after = stage_vector(row + k * line_bytes);
    stream(to + k * line_bytes, shift(before, after));
    before = after;
  }
}

/// Transposes as staged_panel for rows of b at any offset in a line: each of its lines begins with
/// the carried bytes and ends in the stage. The first panel of a strip carries nothing in, so its
/// first line is partial.
template <int Bytes, int Squares, Ahead To>
void carried_panel(const std::byte* a, index_t a_stride, std::byte* b, index_t b_stride,
                   index_t cols, const std::byte* next, Carry& carry, bool first) {
  constexpr index_t side = line_bytes / Bytes;
  constexpr index_t run = Squares * line_bytes;
  constexpr index_t pitch = line_bytes + run;  // a carried line and the run
  const bool shifts = Shift::is_one_instruction && carry.shifts;
  alignas(line_bytes) std::byte stage[side * pitch];
  for (index_t j = 0; j < cols; j += side) {
    const index_t at = square_column<Bytes>(j, cols);
    for (index_t column = j; column < at + side && !shifts; ++column)
      __builtin_memcpy(stage + (column - at) * pitch, carry.line(column), line_bytes);
    stage_squares<Bytes, Squares, To>(a, a_stride, j, at, cols, next, stage + line_bytes, pitch);
    for (index_t column = j; column < at + side; ++column) {
      std::byte* const row = stage + (column - at) * pitch;
      std::byte* const to = b + column * b_stride;
      const index_t past = bytes_past_line(to);
      if (first && past > 0) {
        if (carry.joins && column > 0)
          __builtin_memcpy(carry.head(column), row + line_bytes, line_bytes);
        else
          __builtin_memcpy(to, row + line_bytes, static_cast<std::size_t>(line_bytes - past));
        if (shifts)
          stream_shifted<Squares - 1>(to - past + line_bytes, row + line_bytes,
                                      row + 2 * line_bytes, past);
        else
          stream_lines(to - past + line_bytes, row + 2 * line_bytes - past, Squares - 1);
      } else if (shifts) {
        stream_shifted<Squares>(to - past, carry.line(column), row + line_bytes, past);
      } else {
        stream_lines(to - past, row + line_bytes - past, Squares);
      }
      __builtin_memcpy(carry.line(column), row + run, line_bytes);
    }
  }
}

/// Appends `head` to the run of a row of b, after the last `rest` bytes of its line.
[[gnu::always_inline]] inline void join(std::byte* end, index_t rest, const std::byte* head,
                                        bool shifts) {
  if (shifts) {
    const Shift shift(line_bytes - rest);
    const Wide<block_count> first = stage_vector(end), second = stage_vector(head);
    put<Put::stage, block_count>(end, shift(first, second));
    put<Put::stage, block_count>(end + line_bytes, shift(second, second));
  } else {
    std::byte both[2 * line_bytes];
    __builtin_memcpy(both, end, line_bytes);
    __builtin_memcpy(both + line_bytes, head, line_bytes);
    __builtin_memcpy(end, both + line_bytes - rest, line_bytes);
    __builtin_memcpy(end + line_bytes, both + 2 * line_bytes - rest,
                     static_cast<std::size_t>(rest));
  }
}

/// Transposes the last panel of a strip that has several, with the rows below it, fewer than a
/// square, which the last square of rows repeats. Stores the remainder of each row of b and the
/// line that it shares with the next one.
template <int Bytes, int Squares, Ahead To>
void last_panel(const Leaf& strip, index_t i, const std::byte* next, Carry& carry) {
  constexpr index_t side = line_bytes / Bytes;
  constexpr index_t run = Squares * line_bytes;
  constexpr index_t pitch = line_bytes + run + 2 * line_bytes;
  const index_t rest = (strip.rows - i) * Bytes - run;
  const bool shifts = Shift::is_one_instruction && carry.shifts;
  alignas(line_bytes) std::byte stage[side * pitch];
  for (index_t j = 0; j < strip.cols; j += side) {
    const index_t at = square_column<Bytes>(j, strip.cols);
    for (index_t column = j; column < at + side; ++column)
      __builtin_memcpy(stage + (column - at) * pitch, carry.line(column), line_bytes);
    stage_squares<Bytes, Squares, To>(strip.a + i * strip.a_stride, strip.a_stride, j, at,
                                      strip.cols, next, stage + line_bytes, pitch);
    if (rest > 0)
      line_square<Bytes, Put::stage>(strip.a + (strip.rows - side) * strip.a_stride + at * Bytes,
                                     strip.a_stride, stage + line_bytes + run, pitch);
    for (index_t column = j; column < at + side; ++column) {
      std::byte* const row = stage + (column - at) * pitch;
      std::byte* const to = strip.b + column * strip.b_stride + i * Bytes;
      const index_t past = bytes_past_line(to);
      const bool joins = carry.joins && column + 1 < strip.cols;
      join(row + line_bytes + run, rest, joins ? carry.head(column + 1) : row, shifts);
      const index_t left = past + run + rest;
      const index_t lines = (left + (joins ? line_bytes - 1 : 0)) / line_bytes;
      if (shifts) {
        stream_shifted<Squares>(to - past, row, row + line_bytes, past);
        for (index_t k = Squares * line_bytes; k < lines * line_bytes; k += line_bytes)
          stream_shifted<1>(to - past + k, row + k, row + k + line_bytes, past);
      } else {
        stream_lines(to - past, row + line_bytes - past, lines);
      }
      if (lines * line_bytes < left)
        __builtin_memcpy(to - past + lines * line_bytes, row + (1 + lines) * line_bytes - past,
                         static_cast<std::size_t>(left - lines * line_bytes));
    }
  }
}

/// Carries the rows of a strip below its only panel, fewer than a square; the last square of rows
/// repeats them.
template <int Bytes>
void carry_rest(const Leaf& strip, index_t rest, Carry& carry) {
  constexpr index_t side = line_bytes / Bytes;
  alignas(line_bytes) std::byte stage[side * line_bytes];
  for (index_t j = 0; j < strip.cols; j += side) {
    const index_t at = square_column<Bytes>(j, strip.cols);
    line_square<Bytes, Put::stage>(strip.a + (strip.rows - side) * strip.a_stride + at * Bytes,
                                   strip.a_stride, stage, line_bytes);
    for (index_t column = j; column < at + side; ++column) {
      std::byte* const to = strip.b + column * strip.b_stride + (strip.rows - rest) * Bytes;
      const index_t past = bytes_past_line(to);
      std::byte pair[2 * line_bytes];
      __builtin_memcpy(pair, carry.line(column), line_bytes);
      __builtin_memcpy(carry.line(column), stage + (column - at) * line_bytes, line_bytes);
      __builtin_memcpy(pair + rest * Bytes, carry.line(column), line_bytes);
      if (past + rest * Bytes >= line_bytes) stream_lines(to - past, pair + line_bytes - past, 1);
    }
  }
}

/// Stores the carried bytes beyond the last row of a strip.
inline void flush(const Leaf& strip, Carry& carry) {
  for (index_t column = 0; column < strip.cols; ++column) {
    std::byte* const end = strip.b + column * strip.b_stride + strip.rows * strip.bytes;
    const index_t past = bytes_past_line(end);
    if (carry.joins && column + 1 < strip.cols) {
      if (past == 0) continue;
      std::byte pair[2 * line_bytes];
      __builtin_memcpy(pair, carry.line(column), line_bytes);
      __builtin_memcpy(pair + line_bytes, carry.head(column + 1), line_bytes);
      stream_lines(end - past, pair + line_bytes - past, 1);
    } else {
      __builtin_memcpy(end - past, carry.line(column) + line_bytes - past,
                       static_cast<std::size_t>(past));
    }
  }
}

/// Transposes a panel from row i of a strip on. `next`: where reading continues after it.
template <int Bytes, Store Kind, int Squares, Ahead To>
[[gnu::always_inline]] inline void panel(const Leaf& strip, index_t i, const std::byte* next,
                                         Carry* carry) {
  const std::byte* const a = strip.a + i * strip.a_stride;
  std::byte* const b = strip.b + i * Bytes;
  if constexpr (Kind == Store::cached) {
    plain_panel<Bytes, Squares>(a, strip.a_stride, b, strip.b_stride, strip.cols);
  } else if constexpr (Kind == Store::carried) {
    carried_panel<Bytes, Squares, To>(a, strip.a_stride, b, strip.b_stride, strip.cols, next,
                                      *carry, i == 0);
  } else {
    staged_panel<Bytes, Squares, To>(a, strip.a_stride, b, strip.b_stride, strip.cols, next);
  }
}

/// Transposes a strip from top to bottom: panels, and the remainder if lines are carried. `next`:
/// where reading continues after it.
template <int Bytes, Store Kind, int Squares, Ahead To>
void walk_strip(const Leaf& strip, const std::byte* next, Carry* carry) {
  constexpr index_t side = line_bytes / Bytes, high = Squares * side;
  const index_t rows = strip.rows / side * side;
  const index_t last = rows % high == 0 ? rows - high : rows - side;  // first row of the last panel
  const index_t end = Kind == Store::carried && last > 0 ? last : rows;
  const auto from = [&](index_t i) {
    return next == nullptr || i >= rows ? next : strip.a + i * strip.a_stride;
  };
  index_t i = 0;
  for (; i + high <= end; i += high)
    panel<Bytes, Kind, Squares, To>(strip, i, from(i + high), carry);
  for (; i < end; i += side) panel<Bytes, Kind, 1, To>(strip, i, from(i + side), carry);
  if constexpr (Kind == Store::cached) {  // the last panel repeats rows of the previous one
    if (rows < strip.rows) panel<Bytes, Kind, 1, To>(strip, strip.rows - side, next, carry);
  }
  if constexpr (Kind == Store::carried) {
    if (rows == end) {
      if (rows < strip.rows) carry_rest<Bytes>(strip, strip.rows - rows, *carry);
      flush(strip, *carry);
    } else if (rows - end == high) {
      last_panel<Bytes, Squares, To>(strip, end, next, *carry);
    } else {
      last_panel<Bytes, 1, To>(strip, end, next, *carry);
    }
  }
}

/// Transposes strips of at most `widest` columns, then the remainder that fills no square.
template <int Bytes, Store Kind, int Squares, Ahead To>
void walk_strips(const Leaf& leaf, index_t widest, Carry* carry) {
  constexpr index_t side = line_bytes / Bytes;
  if (leaf.rows < side || leaf.cols < side)
    return edge<Bytes>(leaf.a, leaf.a_stride, leaf.b, leaf.b_stride, leaf.rows, leaf.cols);
  Leaf strip = leaf;
  for (index_t left = 0; left < leaf.cols; left += strip.cols) {
    // A strip narrower than a square would overlap the previous one.
    strip.cols = leaf.cols - left < widest + side ? leaf.cols - left : widest;
    strip.a = leaf.a + left * Bytes;
    strip.b = leaf.b + left * leaf.b_stride;
    const bool last = left + strip.cols == leaf.cols;
    const std::byte* const next = last ? leaf.a : strip.a + strip.cols * Bytes;
    walk_strip<Bytes, Kind, Squares, To>(strip, leaf.ahead == Ahead::nothing ? nullptr : next,
                                         carry);
  }
  if constexpr (Kind != Store::streaming) return;
  const index_t rows = leaf.rows / side * side;
  edge<Bytes>(leaf.a + rows * leaf.a_stride, leaf.a_stride, leaf.b + rows * Bytes, leaf.b_stride,
              leaf.rows - rows, leaf.cols);
}

/// Transposes a streamed or carried leaf, with prefetches into the requested level.
template <int Bytes, Store Kind>
void panels_leaf(const Leaf& leaf, index_t widest, Carry* carry) {
  const auto walk = [&]<Ahead To>() {
    walk_strips<Bytes, Kind, squares_in_panel<Bytes, Kind, To>, To>(leaf, widest, carry);
  };
  if (leaf.ahead == Ahead::second_level)
    walk.template operator()<Ahead::second_level>();
  else
    walk.template operator()<Ahead::first_level>();
}

}  // namespace
}  // namespace tessera::inline v1::transpose::TESSERA_ISA
