// The unit is a square of one line by one line. It is built of squares of one vector by one vector: rows are
// loaded whole, their 16-byte lanes exchanged, the words inside the lanes interleaved in log2 rounds, and
// every vector leaves as a (part of a) line of b. Words of 1 and 2 bytes, whose squares exceed the registers,
// are loaded by lanes instead. The same code serves 1, 2 and 4 lanes and all record sizes.

#include "kernels/transpose/leaf.hpp"

#include "kernels/transpose/lanes.hpp"

namespace tessera::transpose::TESSERA_ISA {
namespace {

constexpr int vector_bytes = lane_count * lane_bytes;
constexpr int vectors_in_line = static_cast<int>(line_bytes) / vector_bytes;

// How far ahead in a row lines are asked for.
constexpr index_t prefetch_bytes = 256;

/// A record of 16 bytes is a lane.
struct LaneWord {
  std::uint64_t halves[2];
};
template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using type = std::uint64_t;
};
template <>
struct WordOf<16> {
  using type = LaneWord;
};

/// Where vectors go: to b by ordinary or by streaming stores, or into a stage, which no trace sees.
enum class Put { target, lines, stage };

template <Put To, int Lanes>
[[gnu::always_inline]] inline void put(std::byte* to, Wide<Lanes> v) {
  if constexpr (To == Put::target) {
    store<Lanes>(to, v);
  } else if constexpr (To == Put::lines) {
    stream(to, v);
  } else {
    __builtin_memcpy(to, &v, sizeof v);
  }
}

template <class Word, int Lanes>
[[gnu::always_inline]] inline void finish_words(Wide<Lanes>* v) {
  if constexpr (sizeof(Word) < lane_bytes) transpose_words<Word, Lanes>(v);
}

/// b[0:E, 0:Lanes*E] = transpose(a[0:Lanes*E, 0:E]), E words in a lane.
template <class Word, Put To, int Lanes>
[[gnu::always_inline]] inline void column_of_lanes(const std::byte* a, index_t a_stride, std::byte* b,
                                                   index_t b_stride) {
  constexpr int words = words_in_lane<Word>;
  Wide<Lanes> v[words];
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) v[r] = gather_lanes<Lanes>(a + r * a_stride, words * a_stride);
  finish_words<Word, Lanes>(v);
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) put<To, Lanes>(b + r * b_stride, v[r]);
}

/// b[0:V, 0:V] = transpose(a[0:V, 0:V]), V words in a vector.
template <class Word, Put To>
[[gnu::always_inline]] inline void square_of_vectors(const std::byte* a, index_t a_stride, std::byte* b,
                                                     index_t b_stride) {
  constexpr int words = words_in_lane<Word>;
  Wide<lane_count> v[lane_count][words];  // (lane of a, word): after the exchange, rows of b
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) {
    Wide<lane_count> rows[lane_count];
#pragma GCC unroll 4
    for (int k = 0; k < lane_count; ++k) rows[k] = keep(load<lane_count>(a + (k * words + r) * a_stride));
    transpose_lanes<lane_count>(rows);
#pragma GCC unroll 4
    for (int k = 0; k < lane_count; ++k) v[k][r] = rows[k];
  }
#pragma GCC unroll 4
  for (int k = 0; k < lane_count; ++k) {
    finish_words<Word, lane_count>(v[k]);
#pragma GCC unroll 16
    for (int r = 0; r < words; ++r) put<To, lane_count>(b + (k * words + r) * b_stride, v[k][r]);
  }
}

/// One line by one line; a line of b is completed before the next ones are begun.
template <int Bytes, Put To>
[[gnu::always_inline]] inline void line_square(const std::byte* a, index_t a_stride, std::byte* b,
                                               index_t b_stride) {
  using Word = typename WordOf<Bytes>::type;
  constexpr int in_lane = words_in_lane<Word>;
  constexpr int in_vector = in_lane * lane_count;
  if constexpr (Bytes >= 4) {
    for (int right = 0; right < vectors_in_line; ++right) {
      for (int down = 0; down < vectors_in_line; ++down) {
        square_of_vectors<Word, To>(a + down * in_vector * a_stride + right * vector_bytes, a_stride,
                                    b + right * in_vector * b_stride + down * vector_bytes, b_stride);
      }
    }
  } else {
    for (int right = 0; right < static_cast<int>(line_bytes) / lane_bytes; ++right) {
      for (int down = 0; down < vectors_in_line; ++down) {
        column_of_lanes<Word, To, lane_count>(a + down * in_vector * a_stride + right * lane_bytes, a_stride,
                                              b + right * in_lane * b_stride + down * vector_bytes, b_stride);
      }
    }
  }
}

/// What does not fill lines, by single lanes and then by records.
template <int Bytes>
void edge(const std::byte* a, index_t a_stride, std::byte* b, index_t b_stride, index_t rows, index_t cols) {
  using Word = typename WordOf<Bytes>::type;
  constexpr index_t step = words_in_lane<Word>;
  index_t i = 0;
  for (; i + step <= rows; i += step) {
    index_t j = 0;
    for (; j + step <= cols; j += step) {
      column_of_lanes<Word, Put::target, 1>(a + i * a_stride + j * Bytes, a_stride,
                                            b + j * b_stride + i * Bytes, b_stride);
    }
    for (; j < cols; ++j) {
      for (index_t k = i; k < i + step; ++k) {
        copy_record<Bytes>(b + j * b_stride + k * Bytes, a + k * a_stride + j * Bytes);
      }
    }
  }
  for (; i < rows; ++i) {
    for (index_t j = 0; j < cols; ++j) {
      copy_record<Bytes>(b + j * b_stride + i * Bytes, a + i * a_stride + j * Bytes);
    }
  }
}

/// The column where the square at column j of a panel begins: the last one ends with the panel, and may
/// repeat columns of the one before.
template <int Bytes>
[[nodiscard]] inline index_t square_column(index_t j, index_t cols) {
  constexpr index_t side = line_bytes / Bytes;
  return j + side <= cols ? j : cols - side;
}

/// Squares, one above the other: their number in a panel. Each is unrolled, with loads of its own:
/// prefetchers tell streams apart by the instruction (two squares in one loop body: 35 to 40 GB/s of f64 on
/// Zen 5; the same squares through one copy of the code: 26). Memory takes runs of 256 bytes as fast as it
/// takes longer ones, of 128 at 0.65 and of 64 at a third of that rate; but rows at strides of a power of two
/// share the sets of a cache, and 32 of them are too many.
template <int Bytes>
inline constexpr int squares_in_panel = 2;
template <>
inline constexpr int squares_in_panel<1> = 1;
template <>
inline constexpr int squares_in_panel<2> = 1;
template <>
inline constexpr int squares_in_panel<8> = 3;

/// A panel of squares from left to right, straight into b.
template <int Bytes, Put To, int Squares>
[[gnu::always_inline]] inline void plain_panel(const std::byte* a, index_t a_stride, std::byte* b,
                                               index_t b_stride, index_t cols) {
  constexpr index_t side = line_bytes / Bytes;
  const auto squares = [&](const std::byte* from, std::byte* to) {
#pragma GCC unroll 3
    for (int q = 0; q < Squares; ++q)
      line_square<Bytes, To>(from + q * side * a_stride, a_stride, to + q * line_bytes, b_stride);
  };
  const index_t whole = cols / side * side;
  for (index_t j = 0; j < whole; j += side) squares(a + j * Bytes, b + j * b_stride);
  if (whole < cols) squares(a + (cols - side) * Bytes, b + (cols - side) * b_stride);
}

/// `lines` whole lines.
[[gnu::always_inline]] inline void stream_lines(std::byte* to, const std::byte* from, index_t lines) {
  for (index_t k = 0; k < lines * line_bytes; k += vector_bytes) {
    Wide<lane_count> v;
    __builtin_memcpy(&v, from + k, sizeof v);
    stream(to + k, v);
  }
}

/// A panel of squares from left to right: they meet in a stage, from where the lines of a row of b leave one
/// right after the other, as memory wants its writes; meanwhile the lines of a that come next are on their
/// way. `next`: where reading goes on after the panel. (Squares of 1 and 2 bytes are slower for it: 0.8 of
/// their rate.)
template <int Bytes, int Squares>
void staged_panel(const std::byte* a, index_t a_stride, std::byte* b, index_t b_stride, index_t cols,
                  const std::byte* next) {
  constexpr index_t side = line_bytes / Bytes;
  constexpr index_t run = Squares * line_bytes;
  alignas(line_bytes) std::byte stage[side * run];
  for (index_t j = 0; j < cols; j += side) {
    const index_t at = square_column<Bytes>(j, cols);
    const index_t beyond = (j - cols) * Bytes + prefetch_bytes;
    const std::byte* const ahead = beyond < 0 ? a + j * Bytes + prefetch_bytes : next + beyond;
#pragma GCC unroll 3
    for (int q = 0; q < Squares; ++q) {
      line_square<Bytes, Put::stage>(a + q * side * a_stride + at * Bytes, a_stride, stage + q * line_bytes,
                                     run);
      for (index_t r = q * side; r < (q + 1) * side; ++r) __builtin_prefetch(ahead + r * a_stride);
    }
    for (index_t r = 0; r < side; ++r) stream_lines(b + (at + r) * b_stride, stage + r * run, Squares);
  }
}

/// The last line's worth of every column of a strip that has been read so far: what a row of b lacks of a
/// whole line waits there for the panel below.
struct Carry {
  static constexpr index_t columns = 1024;
  alignas(line_bytes) std::byte lines[columns * line_bytes];

  [[nodiscard]] std::byte* of(index_t column) { return lines + column * line_bytes; }
};

[[nodiscard]] inline index_t bytes_past_line(const std::byte* at) {
  return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(at) % line_bytes);
}

/// As staged_panel, where rows of b begin anywhere in a line: each of its lines begins in what was carried
/// and ends in the stage. The first panel of a strip has nothing before it: its first line is not whole.
template <int Bytes, int Squares>
void carried_panel(const std::byte* a, index_t a_stride, std::byte* b, index_t b_stride, index_t cols,
                   const std::byte* next, Carry& carry, bool first) {
  constexpr index_t side = line_bytes / Bytes;
  constexpr index_t run = Squares * line_bytes;
  constexpr index_t pitch = line_bytes + run;  // a carried line before the run
  alignas(line_bytes) std::byte stage[side * pitch];
  for (index_t j = 0; j < cols; j += side) {
    const index_t at = square_column<Bytes>(j, cols);
    const index_t beyond = (j - cols) * Bytes + prefetch_bytes;
    const std::byte* const ahead = beyond < 0 ? a + j * Bytes + prefetch_bytes : next + beyond;
#pragma GCC unroll 3
    for (int q = 0; q < Squares; ++q) {
      line_square<Bytes, Put::stage>(a + q * side * a_stride + at * Bytes, a_stride,
                                     stage + (q + 1) * line_bytes, pitch);
      if constexpr (Bytes >= 4) {
        for (index_t r = q * side; r < (q + 1) * side; ++r) __builtin_prefetch(ahead + r * a_stride);
      }
    }
    for (index_t column = j; column < at + side; ++column) {
      std::byte* const row = stage + (column - at) * pitch;
      std::byte* const to = b + column * b_stride;
      const index_t past = bytes_past_line(to);
      __builtin_memcpy(row, carry.of(column), line_bytes);
      __builtin_memcpy(carry.of(column), row + run, line_bytes);
      if (first && past > 0) {
        __builtin_memcpy(to, row + line_bytes, static_cast<std::size_t>(line_bytes - past));
        stream_lines(to - past + line_bytes, row + 2 * line_bytes - past, Squares - 1);
      } else {
        stream_lines(to - past, row + line_bytes - past, Squares);
      }
    }
  }
}

/// What was carried below the last of `rows` rows of a strip.
void flush(const Leaf& strip, index_t rows, Carry& carry) {
  for (index_t column = 0; column < strip.cols; ++column) {
    std::byte* const end = strip.b + column * strip.b_stride + rows * strip.bytes;
    const index_t past = bytes_past_line(end);
    __builtin_memcpy(end - past, carry.of(column) + line_bytes - past, static_cast<std::size_t>(past));
  }
}

/// The rows of a strip from row i on that make a panel. `next`: where reading goes on after it.
template <int Bytes, Store Kind, int Squares>
[[gnu::always_inline]] inline void panel(const Leaf& strip, index_t i, const std::byte* next, Carry* carry) {
  const std::byte* const a = strip.a + i * strip.a_stride;
  std::byte* const b = strip.b + i * Bytes;
  if constexpr (Kind == Store::cached) {
    plain_panel<Bytes, Put::target, Squares>(a, strip.a_stride, b, strip.b_stride, strip.cols);
  } else if constexpr (Kind == Store::carried) {
    carried_panel<Bytes, Squares>(a, strip.a_stride, b, strip.b_stride, strip.cols, next, *carry, i == 0);
  } else if constexpr (Bytes < 4) {
    plain_panel<Bytes, Put::lines, Squares>(a, strip.a_stride, b, strip.b_stride, strip.cols);
  } else {
    staged_panel<Bytes, Squares>(a, strip.a_stride, b, strip.b_stride, strip.cols, next);
  }
}

/// The first `rows` rows of a strip, whole squares, in panels from top to bottom. `next`: where reading goes
/// on after it.
template <int Bytes, Store Kind>
void walk_strip(const Leaf& strip, index_t rows, const std::byte* next, Carry* carry) {
  constexpr index_t side = line_bytes / Bytes;
  constexpr int squares = squares_in_panel<Bytes>;
  const auto from = [&](index_t i) { return i < rows ? strip.a + i * strip.a_stride : next; };
  index_t i = 0;
  for (; i + squares * side <= rows; i += squares * side)
    panel<Bytes, Kind, squares>(strip, i, from(i + squares * side), carry);
  for (; i < rows; i += side) panel<Bytes, Kind, 1>(strip, i, from(i + side), carry);
  if constexpr (Kind == Store::carried) flush(strip, rows, *carry);
}

/// Strips of at most `widest` columns, then what fills no square.
template <int Bytes, Store Kind>
void walk_strips(const Leaf& leaf, index_t widest, Carry* carry) {
  constexpr index_t side = line_bytes / Bytes;
  const index_t rows = leaf.rows / side * side;
  const index_t cols = rows == 0 || leaf.cols < side ? 0 : leaf.cols;
  Leaf strip = leaf;
  for (index_t left = 0; left < cols; left += strip.cols) {
    // A strip narrower than a square would reach into the one before.
    strip.cols = cols - left < widest + side ? cols - left : widest;
    strip.a = leaf.a + left * Bytes;
    strip.b = leaf.b + left * leaf.b_stride;
    walk_strip<Bytes, Kind>(strip, rows, left + strip.cols < cols ? strip.a + strip.cols * Bytes : leaf.a,
                            carry);
  }
  edge<Bytes>(leaf.a + cols * Bytes, leaf.a_stride, leaf.b + cols * leaf.b_stride, leaf.b_stride, rows,
              leaf.cols - cols);
  edge<Bytes>(leaf.a + rows * leaf.a_stride, leaf.a_stride, leaf.b + rows * Bytes, leaf.b_stride,
              leaf.rows - rows, leaf.cols);
}

template <int Bytes>
void leaf_of(const Leaf& leaf) {
  switch (leaf.store) {
    case Store::cached:
      return walk_strips<Bytes, Store::cached>(leaf, leaf.strip, nullptr);
    case Store::streaming:
      return walk_strips<Bytes, Store::streaming>(leaf, leaf.strip, nullptr);
    default:
      Carry carry;
      constexpr index_t widest = Carry::columns - line_bytes / Bytes;
      return walk_strips<Bytes, Store::carried>(leaf, leaf.strip < widest ? leaf.strip : widest, &carry);
  }
}

void leaf_sized(const Leaf& leaf) {
  switch (leaf.bytes) {
    case 1:
      return leaf_of<1>(leaf);
    case 2:
      return leaf_of<2>(leaf);
    case 4:
      return leaf_of<4>(leaf);
    case 8:
      return leaf_of<8>(leaf);
    default:
      return leaf_of<16>(leaf);
  }
}

void stream_copy(std::byte* to, const std::byte* from, index_t count) {
  const index_t off = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(to) % line_bytes);
  const index_t lead = off == 0 ? 0 : line_bytes - off;
  const index_t head = lead < count ? lead : count;
  __builtin_memcpy(to, from, static_cast<std::size_t>(head));
  index_t done = head;
  for (; done + line_bytes <= count; done += line_bytes) {
    for (int k = 0; k < vectors_in_line; ++k) {
      stream(to + done + k * vector_bytes, load<lane_count>(from + done + k * vector_bytes));
    }
  }
  __builtin_memcpy(to + done, from + done, static_cast<std::size_t>(count - done));
}

void fence() { fence_streams(); }

}  // namespace

extern const LeafSet leaf_set;
const LeafSet leaf_set{leaf_sized, stream_copy, fence};

}  // namespace tessera::transpose::TESSERA_ISA
