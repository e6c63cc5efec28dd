#pragma once
// How the vectorised device kernel goes about a transpose.

#include <array>

#include "kernels/transpose/records.hpp"

namespace tessera::transpose {

/// A tile's bytes along a row of a and along a row of b, and the threads that move it.
struct Tiling {
  int in = 256, out = 256, threads = 256;
  friend constexpr bool operator==(const Tiling&, const Tiling&) = default;
};

inline constexpr Tiling small_tiles{128, 128, 256};
inline constexpr Tiling square_tiles{256, 256, 256};
/// Of 4 bytes, rows of a on vectors.
inline constexpr Tiling square_tiles_of_words{256, 256, 512};
/// Of 4 and 8 bytes, rows of a off vectors.
inline constexpr Tiling wide_tiles{512, 256, 512};

/// Those that there are for records of so many bytes.
template <int bytes>
inline constexpr std::array tilings{square_tiles};
template <>
inline constexpr std::array tilings<1>{small_tiles};
template <>
inline constexpr std::array tilings<2>{small_tiles, square_tiles};
template <>
inline constexpr std::array tilings<4>{small_tiles, square_tiles_of_words, wide_tiles};
template <>
inline constexpr std::array tilings<8>{square_tiles, wide_tiles};

struct VectorPlan {
  Tiling tiling;
  int repeats = 1;  ///< of the whole, inside the kernel
};

/// Whether rows begin on 16 bytes, so that they can be moved by vectors as they lie.
template <class Byte>
[[nodiscard]] bool rows_on_vectors(const RecordView<Byte>& x) {
  return x.stride() % 16 == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

/// Measured on an H200 in turn with a device copy, shares of it for f32 and f64. Rows of a on
/// vectors: 256 bytes both ways give 0.987 and 0.997 at 8192 x 8192, 0.982 and 0.972 at 12345 x
/// 8000. Rows of a off vectors: each end of a tile's row reads a sector that the next tile reads,
/// too, so 512 bytes a row are better: 0.965 and 0.972 at 8000 x 12345 (256 bytes: 0.954 and
/// 0.948), 0.959 and 0.968 at 8001 x 12345. Records of 1 and 2 bytes: 0.941 and 0.955 at 8192 x
/// 8192. Tiles follow down the columns, so that rows of b grow in one go.
[[nodiscard]] inline VectorPlan vector_plan(const ConstRecords& a, const Records& b,
                                            int multiprocessors) {
  // Fewer large tiles than a few for each multiprocessor leave some without work at the end.
  const index_t tiles = ceil_div(a.rows * a.bytes, 256) * ceil_div(a.cols * a.bytes, 256);
  const bool few = tiles < index_t{8} * multiprocessors, on_vectors = rows_on_vectors(a);
  switch (a.bytes) {
    case 1:
      return {small_tiles};
    case 2:
      return {few || (on_vectors && rows_on_vectors(b)) ? small_tiles : square_tiles};
    case 4:
      return {few ? small_tiles : on_vectors ? square_tiles_of_words : wide_tiles};
    case 8:
      return {few || on_vectors ? square_tiles : wide_tiles};
    default:
      return {square_tiles};
  }
}

}  // namespace tessera::transpose
