#pragma once
// How the vectorised device kernel goes about a transpose.

#include <array>

#include "kernels/transpose/records.hpp"

namespace tessera::transpose {

/// What the second-level cache fetches of memory where a sector of 32 bytes is read.
enum class Read {
  lines,       ///< the 128 bytes around
  line_pairs,  ///< the 256 bytes around
};

/// A tile's bytes along a row of a and along a row of b, the threads that move it, and how they read.
struct Tiling {
  int in = 256, out = 256, threads = 256;
  Read read = Read::lines;
  friend constexpr bool operator==(const Tiling&, const Tiling&) = default;
};

inline constexpr Tiling small_tiles{128, 128, 256, Read::line_pairs};
inline constexpr Tiling square_tiles{256, 256, 256, Read::lines};
/// Of 4 bytes: rows of a on vectors, and off them.
inline constexpr Tiling square_tiles_of_words{256, 256, 512, Read::lines};
inline constexpr Tiling wide_tiles_of_words{512, 256, 512, Read::line_pairs};
/// Of 8 bytes, rows of a off vectors.
inline constexpr Tiling large_tiles{512, 512, 512, Read::line_pairs};

/// Those that there are for records of so many bytes.
template <int bytes>
inline constexpr std::array tilings{square_tiles};
template <>
inline constexpr std::array tilings<1>{small_tiles};
template <>
inline constexpr std::array tilings<2>{small_tiles, square_tiles};
template <>
inline constexpr std::array tilings<4>{small_tiles, square_tiles_of_words, wide_tiles_of_words};
template <>
inline constexpr std::array tilings<8>{square_tiles, large_tiles};

struct VectorPlan {
  Tiling tiling;
  int repeats = 1;  ///< of the whole, inside the kernel
};

/// Whether rows begin on 16 bytes, so that they can be moved by vectors as they lie.
template <class Byte>
[[nodiscard]] bool rows_on_vectors(const RecordView<Byte>& x) {
  return x.stride() % 16 == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

/// Measured on an H200 in turn with a device copy, shares of it for f32 and f64. Rows of a on vectors: 256
/// bytes both ways give 0.972 and 0.982 at 8192 x 8192, 0.958 and 0.952 at 12345 x 8000; no other tile is
/// more than 0.006 better. Rows of a off vectors: each end of a tile's row reads a sector that the next tile
/// reads, too, so 512 bytes a row are better, in pairs of lines: 0.948 and 0.951 at 8000 x 12345 (256 bytes:
/// 0.944 and 0.947), 0.933 and 0.955 at 8001 x 12345. Records of 1 and 2 bytes: 0.931 and 0.958 at 8192 x
/// 8192. Tiles follow down the columns, so that rows of b grow in one go.
[[nodiscard]] inline VectorPlan vector_plan(const ConstRecords& a, const Records& b, int multiprocessors) {
  // Fewer large tiles than a few for each multiprocessor leave some without work at the end.
  const index_t tiles = ceil_div(a.rows * a.bytes, 256) * ceil_div(a.cols * a.bytes, 256);
  const bool few = tiles < index_t{8} * multiprocessors, on_vectors = rows_on_vectors(a);
  switch (a.bytes) {
    case 1:
      return {small_tiles};
    case 2:
      return {few || (on_vectors && rows_on_vectors(b)) ? small_tiles : square_tiles};
    case 4:
      return {few ? small_tiles : on_vectors ? square_tiles_of_words : wide_tiles_of_words};
    case 8:
      return {few || on_vectors ? square_tiles : large_tiles};
    default:
      return {square_tiles};
  }
}

}  // namespace tessera::transpose
