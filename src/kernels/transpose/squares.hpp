#pragma once
// The unit is a square of one line by one line. It is built of squares of one vector by one vector:
// rows are loaded whole, their 16-byte lanes exchanged, the words inside the lanes interleaved in
// log2 rounds, and every vector leaves as a (part of a) line of b. Words of 1 and 2 bytes, whose
// squares exceed the registers, are loaded by lanes instead, or stored by lanes where they go into
// a stage. The same code serves 1, 2 and 4 lanes and all record sizes. For files compiled per
// instruction set only, as lanes.hpp.

#include "kernels/transpose/lanes.hpp"
#include "kernels/transpose/leaf.hpp"

namespace tessera::transpose {
namespace {

constexpr int vector_bytes = lane_count * lane_bytes;
constexpr int vectors_in_line = static_cast<int>(line_bytes) / vector_bytes;

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

/// Where vectors go: to b by ordinary stores, or into a stage, which no trace sees.
enum class Put { target, stage };

template <Put To, int Lanes>
[[gnu::always_inline]] inline void put(std::byte* to, Wide<Lanes> v) {
  if constexpr (To == Put::target) {
    store<Lanes>(to, v);
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
[[gnu::always_inline]] inline void column_of_lanes(const std::byte* a, index_t a_stride,
                                                   std::byte* b, index_t b_stride) {
  constexpr int words = words_in_lane<Word>;
  if constexpr (To == Put::target) {
    a_stride = unknown(a_stride);
    b_stride = unknown(b_stride);
  }
  Wide<Lanes> v[words];
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) v[r] = gather_lanes<Lanes>(a + r * a_stride, words * a_stride);
  finish_words<Word, Lanes>(v);
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) put<To, Lanes>(b + r * b_stride, v[r]);
}

/// b[0:Lanes*E, 0:E] = transpose(a[0:E, 0:Lanes*E]) into a stage, E words in a lane: every vector
/// of a is loaded once.
template <class Word, int Lanes>
[[gnu::always_inline]] inline void row_of_lanes(const std::byte* a, index_t a_stride,
                                                std::byte* stage, index_t pitch) {
  constexpr int words = words_in_lane<Word>;
  Wide<Lanes> v[words];
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) v[r] = load<Lanes>(a + r * a_stride);
  finish_words<Word, Lanes>(v);
#pragma GCC unroll 4
  for (int l = 0; l < Lanes; ++l) {
#pragma GCC unroll 16
    for (int r = 0; r < words; ++r) store_lane(stage + (l * words + r) * pitch, v[r], l);
  }
}

/// b[0:V, 0:V] = transpose(a[0:V, 0:V]), V words in a vector.
template <class Word, Put To>
[[gnu::always_inline]] inline void square_of_vectors(const std::byte* a, index_t a_stride,
                                                     std::byte* b, index_t b_stride) {
  constexpr int words = words_in_lane<Word>;
  if constexpr (To == Put::target) {
    a_stride = unknown(a_stride);
    b_stride = unknown(b_stride);
  }
  Wide<lane_count> v[lane_count][words];  // (lane of a, word): after the exchange, rows of b
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) {
    Wide<lane_count> rows[lane_count];
#pragma GCC unroll 4
    for (int k = 0; k < lane_count; ++k)
      rows[k] = keep(load<lane_count>(a + (k * words + r) * a_stride));
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
        square_of_vectors<Word, To>(
            a + down * in_vector * a_stride + right * vector_bytes, a_stride,
            b + right * in_vector * b_stride + down * vector_bytes, b_stride);
      }
    }
  } else if constexpr (To == Put::stage) {
    for (int down = 0; down < static_cast<int>(line_bytes) / lane_bytes; ++down) {
      for (int right = 0; right < vectors_in_line; ++right) {
        row_of_lanes<Word, lane_count>(
            a + down * in_lane * a_stride + right * vector_bytes, a_stride,
            b + right * in_vector * b_stride + down * lane_bytes, b_stride);
      }
    }
  } else {
    for (int right = 0; right < static_cast<int>(line_bytes) / lane_bytes; ++right) {
      for (int down = 0; down < vectors_in_line; ++down) {
        column_of_lanes<Word, To, lane_count>(
            a + down * in_vector * a_stride + right * lane_bytes, a_stride,
            b + right * in_lane * b_stride + down * vector_bytes, b_stride);
      }
    }
  }
}

/// The column where the square at column j of a panel begins: the last one ends with the panel, and
/// may repeat columns of the one before.
template <int Bytes>
[[nodiscard]] inline index_t square_column(index_t j, index_t cols) {
  constexpr index_t side = line_bytes / Bytes;
  return j + side <= cols ? j : cols - side;
}

/// `lines` whole lines.
[[gnu::always_inline]] inline void stream_lines(std::byte* to, const std::byte* from,
                                                index_t lines) {
  for (index_t k = 0; k < lines * line_bytes; k += vector_bytes) {
    stream(to + k, stage_vector(from + k));
  }
}

[[nodiscard]] inline index_t bytes_past_line(const std::byte* at) {
  return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(at) % line_bytes);
}

}  // namespace
}  // namespace tessera::transpose
