#pragma once
// Transposition of squares of one line by one line, built of squares of one vector by one vector:
// rows are loaded whole, their 16-byte blocks exchanged, the words inside the blocks interleaved in
// log2 rounds, and every vector is stored as a (part of a) line of b. Words of 1 and 2 bytes, whose
// squares exceed the registers, are loaded by blocks instead, or stored by blocks into a stage. The
// same code serves 1, 2 and 4 blocks and all record sizes. Only for files compiled per instruction
// set, as moves.hpp.

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/moves.hpp"

namespace tessera::inline v1::transpose {
namespace {

constexpr int vectors_in_line = static_cast<int>(line_bytes / vector_bytes);

/// The word of 16-byte records: one block.
struct BlockWord {
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
  using type = BlockWord;
};

/// The destination of vectors: b by ordinary stores, or a stage, without a trace.
enum class Put { target, stage };

template <Put To, int Blocks>
[[gnu::always_inline]] inline void put(std::byte* to, Wide<Blocks> v) {
  if constexpr (To == Put::target) {
    store<Blocks>(to, v);
  } else {
    __builtin_memcpy(to, &v, sizeof v);
  }
}

template <class Word, int Blocks>
[[gnu::always_inline]] inline void finish_words(Wide<Blocks>* v) {
  if constexpr (sizeof(Word) < block_bytes) simd::transpose_words<Word>(v);
}

/// Computes b[0:E, 0:Blocks*E] = transpose(a[0:Blocks*E, 0:E]), E words per block.
template <class Word, Put To, int Blocks>
[[gnu::always_inline]] inline void column_of_blocks(const std::byte* a, index_t a_stride,
                                                    std::byte* b, index_t b_stride) {
  constexpr int words = words_in_block<Word>;
  if constexpr (To == Put::target) {
    a_stride = unknown(a_stride);
    b_stride = unknown(b_stride);
  }
  Wide<Blocks> v[words];
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) v[r] = gather_blocks<Blocks>(a + r * a_stride, words * a_stride);
  finish_words<Word, Blocks>(v);
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) put<To, Blocks>(b + r * b_stride, v[r]);
}

/// Computes b[0:Blocks*E, 0:E] = transpose(a[0:E, 0:Blocks*E]) into a stage, E words per block,
/// with a single load of every vector of a.
template <class Word, int Blocks>
[[gnu::always_inline]] inline void row_of_blocks(const std::byte* a, index_t a_stride,
                                                 std::byte* stage, index_t pitch) {
  constexpr int words = words_in_block<Word>;
  Wide<Blocks> v[words];
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) v[r] = load<Blocks>(a + r * a_stride);
  finish_words<Word, Blocks>(v);
#pragma GCC unroll 4
  for (int l = 0; l < Blocks; ++l) {
#pragma GCC unroll 16
    for (int r = 0; r < words; ++r) store_block(stage + (l * words + r) * pitch, v[r], l);
  }
}

/// Computes b[0:V, 0:V] = transpose(a[0:V, 0:V]), V words per vector.
template <class Word, Put To>
[[gnu::always_inline]] inline void square_of_vectors(const std::byte* a, index_t a_stride,
                                                     std::byte* b, index_t b_stride) {
  constexpr int words = words_in_block<Word>;
  if constexpr (To == Put::target) {
    a_stride = unknown(a_stride);
    b_stride = unknown(b_stride);
  }
  // As simd::transpose_square, but exchanges blocks as rows are loaded and stores rows block by
  // block.
  Wide<block_count> v[block_count][words];  // (block of a, word): after the exchange, rows of b
#pragma GCC unroll 16
  for (int r = 0; r < words; ++r) {
    Wide<block_count> rows[block_count];
#pragma GCC unroll 4
    for (int k = 0; k < block_count; ++k)
      rows[k] = simd::in_register(load<block_count>(a + (k * words + r) * a_stride));
    simd::transpose_blocks(rows);
#pragma GCC unroll 4
    for (int k = 0; k < block_count; ++k) v[k][r] = rows[k];
  }
#pragma GCC unroll 4
  for (int k = 0; k < block_count; ++k) {
    finish_words<Word, block_count>(v[k]);
#pragma GCC unroll 16
    for (int r = 0; r < words; ++r) put<To, block_count>(b + (k * words + r) * b_stride, v[k][r]);
  }
}

/// Transposes one line by one line; completes a line of b before it begins the next ones.
template <int Bytes, Put To>
[[gnu::always_inline]] inline void line_square(const std::byte* a, index_t a_stride, std::byte* b,
                                               index_t b_stride) {
  using Word = typename WordOf<Bytes>::type;
  constexpr int in_block = words_in_block<Word>;
  constexpr int in_vector = in_block * block_count;
  if constexpr (Bytes >= 4) {
    for (int right = 0; right < vectors_in_line; ++right) {
      for (int down = 0; down < vectors_in_line; ++down) {
        square_of_vectors<Word, To>(
            a + down * in_vector * a_stride + right * vector_bytes, a_stride,
            b + right * in_vector * b_stride + down * vector_bytes, b_stride);
      }
    }
  } else if constexpr (To == Put::stage) {
    for (int down = 0; down < static_cast<int>(line_bytes) / block_bytes; ++down) {
      for (int right = 0; right < vectors_in_line; ++right) {
        row_of_blocks<Word, block_count>(
            a + down * in_block * a_stride + right * vector_bytes, a_stride,
            b + right * in_vector * b_stride + down * block_bytes, b_stride);
      }
    }
  } else {
    for (int right = 0; right < static_cast<int>(line_bytes) / block_bytes; ++right) {
      for (int down = 0; down < vectors_in_line; ++down) {
        column_of_blocks<Word, To, block_count>(
            a + down * in_vector * a_stride + right * block_bytes, a_stride,
            b + right * in_block * b_stride + down * vector_bytes, b_stride);
      }
    }
  }
}

/// Returns the first column of the square at column j of a panel: the last square ends with the
/// panel and may repeat columns of the previous one.
template <int Bytes>
[[nodiscard]] inline index_t square_column(index_t j, index_t cols) {
  constexpr index_t side = line_bytes / Bytes;
  return j + side <= cols ? j : cols - side;
}

/// Streams `lines` whole lines.
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
}  // namespace tessera::inline v1::transpose
