#pragma once
// Plans of the vectorised device kernel.

#include <array>

#include "kernels/transpose/records.hpp"

namespace tessera::inline v1::transpose {

/// A tile's bytes along a row of a and along a row of b, and its threads.
struct Tiling {
  int in = 256, out = 256, threads = 256;
  friend constexpr bool operator==(const Tiling&, const Tiling&) = default;
};

inline constexpr Tiling small_tiles{128, 128, 256};
inline constexpr Tiling square_tiles{256, 256, 256};
/// For records of 4 bytes, rows of a aligned to vectors.
inline constexpr Tiling square_tiles_of_words{256, 256, 512};
/// For records of 4 and 8 bytes, rows of a unaligned.
inline constexpr Tiling wide_tiles{512, 256, 512};

/// The tilings compiled for records of `bytes` bytes.
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
  int repeats = 1;  ///< of the whole transposition, inside the kernel
};

/// Returns whether rows are aligned to 16 bytes, so that they can be moved by vectors.
template <class Byte>
[[nodiscard]] bool rows_on_vectors(const RecordView<Byte>& x) {
  return x.stride() % 16 == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

/// Returns the plan with the best measured rate. On an H200, interleaved with a device copy,
/// fractions of its rate for f32 and f64: with aligned rows of a, 256 bytes both ways give 0.987
/// and 0.997 at 8192 x 8192, 0.982 and 0.972 at 12345 x 8000. With unaligned rows of a, each end of
/// a tile's row reads a sector that the next tile reads too, so 512 bytes per row are better: 0.965
/// and 0.972 at 8000 x 12345 (256 bytes: 0.954 and 0.948), 0.959 and 0.968 at 8001 x 12345. Records
/// of 1 and 2 bytes: 0.941 and 0.955 at 8192 x 8192. Tiles are visited down the columns, so that
/// rows of b are completed in sequence.
[[nodiscard]] inline VectorPlan vector_plan(const ConstRecords& a, const Records& b,
                                            int multiprocessors) {
  // Too few large tiles per multiprocessor cause load imbalance at the end.
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

}  // namespace tessera::inline v1::transpose
