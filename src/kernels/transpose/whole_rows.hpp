#pragma once
// Short, contiguous rows of b: b is one run, so an image of some of its rows is assembled in the
// first-level cache and streamed line by line. Only for files compiled per instruction set, as
// moves.hpp.

#include "kernels/transpose/narrow.hpp"

namespace tessera::inline v1::transpose {
namespace {

inline constexpr index_t lines_across = 2;  // lines of a row of a per image

/// Transposes all rows of a, from column j on as many lines of each as an image takes, into the
/// image of their rows of b, and prefetches the following lines. Squares at the ends repeat records
/// of others.
template <int Bytes>
[[gnu::always_inline]] inline void draw(const Leaf& leaf, index_t j, index_t wide,
                                        std::byte* image) {
  constexpr index_t side = line_bytes / Bytes;
  const index_t row = leaf.rows * Bytes;
  for (index_t i = 0; i < leaf.rows; i += side) {
    const index_t down = square_column<Bytes>(i, leaf.rows);
    const std::byte* const from = leaf.a + down * leaf.a_stride + j * Bytes;
    for (index_t across = 0; across < wide; across += side) {
      const index_t at = square_column<Bytes>(across, wide);
      line_square<Bytes, Put::stage>(from + at * Bytes, leaf.a_stride,
                                     image + at * row + down * Bytes, row);
    }
    for (index_t r = 0; r < side; ++r) {
      for (index_t line = lines_across; line < 2 * lines_across; ++line)
        __builtin_prefetch(from + r * leaf.a_stride + line * line_bytes, 0, 2);
    }
  }
}

/// Computes b = transpose(a) where joins_rows holds and b has no gaps. (Emerald Rapids, one core,
/// where a streaming copy has 35 GB/s: f32 100 x 100000 22 -> 27 GB/s, 50 x 100000 18 -> 29; two
/// cores, 41 -> 53. One line across 22, three 26, four 23; lines further ahead are no better.)
template <int Bytes>
void whole_rows(const Leaf& leaf) {
  constexpr index_t side = line_bytes / Bytes;
  if (leaf.cols < side)
    return edge<Bytes>(leaf.a, leaf.a_stride, leaf.b, leaf.b_stride, leaf.rows, leaf.cols);
  // Space for the rows of one square precedes the image: the last square may repeat them.
  alignas(line_bytes)
      std::byte room[(1 + lines_across) * line_bytes * most_joined_rows + 2 * line_bytes];
  std::byte* const image = room + line_bytes * most_joined_rows;
  index_t past = bytes_past_line(leaf.b), skip = past > 0 ? line_bytes : 0;
  std::byte* line = leaf.b - past;  // line at which the image begins
  for (index_t j = 0; j < leaf.cols; j += lines_across * side) {
    const index_t wide = leaf.cols - j < lines_across * side ? leaf.cols - j : lines_across * side;
    draw<Bytes>(leaf, j, wide, image + past);
    if (skip > 0)
      __builtin_memcpy(leaf.b, image + past, static_cast<std::size_t>(line_bytes - past));
    const index_t end = past + wide * leaf.rows * Bytes, whole = end / line_bytes * line_bytes;
    stream_lines(line + skip, image + skip, (whole - skip) / line_bytes);
    __builtin_memcpy(image, image + whole, line_bytes);
    skip = 0;
    line += whole;
    past = end - whole;
  }
  __builtin_memcpy(line, image, static_cast<std::size_t>(past));
}

}  // namespace
}  // namespace tessera::inline v1::transpose
