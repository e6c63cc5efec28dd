#pragma once
// Blocks too narrow for a square: remainders of lines, and matrices of few rows or columns. Only
// for files compiled per instruction set, as moves.hpp.

#include "kernels/transpose/squares.hpp"

namespace tessera::inline v1::transpose {
namespace {

/// Transposes record by record.
template <int Bytes>
void edge_records(const std::byte* a, index_t a_stride, std::byte* b, index_t b_stride,
                  index_t rows, index_t cols) {
  for (index_t j = 0; j < cols; ++j) {
    for (index_t i = 0; i < rows; ++i)
      copy_record<Bytes>(b + j * b_stride + i * Bytes, a + i * a_stride + j * Bytes);
  }
}

/// Transposes fewer columns than a block has words: loads a block from the beginning of each row
/// and uses its first words. The last rows, beyond which reads would be out of bounds, go record by
/// record.
template <int Bytes>
void few_columns(const std::byte* a, index_t a_stride, std::byte* b, index_t b_stride, index_t rows,
                 index_t cols) {
  using Word = typename WordOf<Bytes>::type;
  constexpr int words = words_in_block<Word>;
  const index_t beyond =
      (block_bytes - cols * Bytes + a_stride - 1) / a_stride;  // rows that a block overlaps
  index_t i = 0;
  for (; i + words * block_count + beyond <= rows; i += words * block_count) {
    Wide<block_count> v[words];
    const std::byte* const from = a + i * a_stride;
#pragma GCC unroll 16
    for (int r = 0; r < words; ++r)
      v[r] = gather_blocks<block_count>(from + r * a_stride, words * a_stride);
    finish_words<Word, block_count>(v);
#pragma GCC unroll 16
    for (int r = 0; r < words; ++r) {
      if (r < cols) store<block_count>(b + r * b_stride + i * Bytes, v[r]);
    }
  }
  edge_records<Bytes>(a + i * a_stride, a_stride, b + i * Bytes, b_stride, rows - i, cols);
}

/// Transposes fewer rows than a block has words, into contiguous rows of b: stores each as a whole
/// block, whose surplus the next ones overwrite. The last rows of b, beyond which writes would be
/// out of bounds, go record by record.
template <int Bytes>
void few_rows(const std::byte* a, index_t a_stride, std::byte* b, index_t rows, index_t cols) {
  using Word = typename WordOf<Bytes>::type;
  constexpr int words = words_in_block<Word>;
  const index_t b_stride = rows * Bytes, beyond = (block_bytes - 1) / b_stride;
  index_t j = 0;
  for (; j + words * block_count + beyond <= cols; j += words * block_count) {
    Wide<block_count> v[words];
#pragma GCC unroll 16
    for (int r = 0; r < words; ++r)
      v[r] = load<block_count>(a + (r < rows ? r : rows - 1) * a_stride + j * Bytes);
    finish_words<Word, block_count>(v);
#pragma GCC unroll 4
    for (int l = 0; l < block_count; ++l) {
#pragma GCC unroll 16
      for (int w = 0; w < words; ++w) store_block(b + (j + l * words + w) * b_stride, v[w], l);
    }
  }
  edge_records<Bytes>(a + j * Bytes, a_stride, b + j * b_stride, b_stride, rows, cols - j);
}

/// Permutes the bytes of every block: byte q becomes the byte at Place::of(q).
template <class Place, int Blocks>
TESSERA_INLINE Wide<Blocks> shuffle_in_blocks(Wide<Blocks> v) {
  const auto bytes = simd::bits_as<std::uint8_t>(v);
  return simd::bits_as<long long>(simd::shuffle(bytes, bytes, [](int q) {
    return q / block_bytes * block_bytes + Place::of(q % block_bytes);
  }));
}

/// The byte permutations between a block of up to four planes, 4 bytes of each, and the same
/// records interleaved by column.
template <int Bytes, int Planes>
struct Woven {  // planes to columns
  static constexpr int of(int q) {
    const int record = q / Bytes;
    return q < 4 * Planes ? record % Planes * 4 + record / Planes * Bytes + q % Bytes : 0;
  }
};
template <int Bytes, int Planes>
struct Parted {  // columns to planes
  static constexpr int of(int q) {
    return q < 4 * Planes ? (q % 4 / Bytes * Planes + q / 4) * Bytes + q % Bytes : 0;
  }
};

/// Computes b[0:cols, 0:Planes] = transpose(a[0:Planes, 0:cols]) for records of 1 and 2 bytes and
/// contiguous rows of b; blocks of b overlap as in few_rows.
template <int Bytes, int Planes>
void weave(const std::byte* a, index_t a_stride, std::byte* b, index_t cols) {
  constexpr index_t in_block = block_bytes / Bytes, in_word = 4 / Bytes, column = Planes * Bytes;
  constexpr index_t beyond = (block_bytes - 4 * Planes + column - 1) / column;
  index_t j = 0;
  for (; j + in_block * block_count + beyond <= cols; j += in_block * block_count) {
    Wide<block_count> v[4];
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p)
      v[p] = load<block_count>(a + (p < Planes ? p : 0) * a_stride + j * Bytes);
    simd::transpose_words<std::uint32_t>(v);
#pragma GCC unroll 4
    for (int w = 0; w < 4; ++w) v[w] = shuffle_in_blocks<Woven<Bytes, Planes>, block_count>(v[w]);
#pragma GCC unroll 4
    for (int l = 0; l < block_count; ++l) {
#pragma GCC unroll 4
      for (int w = 0; w < 4; ++w)
        store_block(b + (j + l * in_block + w * in_word) * column, v[w], l);
    }
  }
  edge_records<Bytes>(a + j * Bytes, a_stride, b + j * column, column, Planes, cols - j);
}

/// Computes b[0:Planes, 0:rows] = transpose(a[0:rows, 0:Planes]) for records of 1 and 2 bytes and
/// contiguous rows of a.
template <int Bytes, int Planes>
void part(const std::byte* a, std::byte* b, index_t b_stride, index_t rows) {
  constexpr index_t in_block = block_bytes / Bytes, in_word = 4 / Bytes, row = Planes * Bytes;
  constexpr index_t beyond = (block_bytes - 4 * Planes + row - 1) / row;
  index_t i = 0;
  for (; i + in_block * block_count + beyond <= rows; i += in_block * block_count) {
    Wide<block_count> v[4];
#pragma GCC unroll 4
    for (int w = 0; w < 4; ++w) {
      v[w] = shuffle_in_blocks<Parted<Bytes, Planes>, block_count>(
          gather_blocks<block_count>(a + (i + w * in_word) * row, in_block * row));
    }
    simd::transpose_words<std::uint32_t>(v);
#pragma GCC unroll 4
    for (int p = 0; p < Planes; ++p) store<block_count>(b + p * b_stride + i * Bytes, v[p]);
  }
  edge_records<Bytes>(a + i * row, row, b + i * Bytes, b_stride, rows - i, Planes);
}

template <int N>
struct Planes {
  constexpr operator int() const { return N; }  // NOLINT: implicit on purpose
};
/// Calls f(Planes<count>{}) and returns true if count is 2 to 4, otherwise returns false.
template <class F>
bool with_planes(index_t count, const F& f) {
  if (count < 2 || count > 4) return false;
  count == 2 ? f(Planes<2>{}) : count == 3 ? f(Planes<3>{}) : f(Planes<4>{});
  return true;
}

/// Transposes fewer rows or columns than a block has words.
template <int Bytes>
void narrow(const std::byte* a, index_t a_stride, std::byte* b, index_t b_stride, index_t rows,
            index_t cols) {
  constexpr index_t step = words_in_block<typename WordOf<Bytes>::type>;
  if (rows == 0 || cols == 0) return;
  if (rows >= step) {
    if constexpr (Bytes < 4) {
      const auto by_planes = [&](auto planes) { part<Bytes, planes>(a, b, b_stride, rows); };
      if (a_stride == cols * Bytes && with_planes(cols, by_planes)) return;
    }
    few_columns<Bytes>(a, a_stride, b, b_stride, rows, cols);
  } else if (cols >= step && b_stride == rows * Bytes) {
    if constexpr (Bytes < 4) {
      const auto by_planes = [&](auto planes) { weave<Bytes, planes>(a, a_stride, b, cols); };
      if (with_planes(rows, by_planes)) return;
    }
    few_rows<Bytes>(a, a_stride, b, rows, cols);
  } else {
    edge_records<Bytes>(a, a_stride, b, b_stride, rows, cols);
  }
}

/// Transposes the remainder that fills no lines by single blocks. The last blocks of a row or
/// column repeat records of the previous ones.
template <int Bytes>
void edge(const std::byte* a, index_t a_stride, std::byte* b, index_t b_stride, index_t rows,
          index_t cols) {
  using Word = typename WordOf<Bytes>::type;
  constexpr index_t step = words_in_block<Word>;
  if (rows < step || cols < step) return narrow<Bytes>(a, a_stride, b, b_stride, rows, cols);
  const auto blocks_at = [&](index_t i, index_t j) {
    column_of_blocks<Word, Put::target, 1>(a + i * a_stride + j * Bytes, a_stride,
                                           b + j * b_stride + i * Bytes, b_stride);
  };
  const auto rows_at = [&](index_t i) {
    index_t j = 0;
    for (; j + step <= cols; j += step) blocks_at(i, j);
    if (j < cols) blocks_at(i, cols - step);
  };
  index_t i = 0;
  for (; i + step <= rows; i += step) rows_at(i);
  if (i < rows) rows_at(rows - step);
}

}  // namespace
}  // namespace tessera::inline v1::transpose
