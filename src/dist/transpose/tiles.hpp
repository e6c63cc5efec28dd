#pragma once
// Tiles of an out-of-core permutation from file to file; pure arithmetic. Cost: Theta(1 + N/B)
// transfers for tiles of at least B^2 elements (Aggarwal and Vitter 1988, transposition with M >
// B^2).

#include <span>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::inline v1::dist::transpose {

/// An array and its permutation: axis k of the result is axis axes[k] of the array.
struct Permutation {
  std::vector<index_t> extents;
  std::vector<int> axes;
  index_t bytes = 8;           ///< of an element
  std::vector<index_t> chunk;  ///< chunk shape of the array; empty if contiguous
};

/// A partition of the array into tiles, each read, permuted and written once.
struct Tiles {
  std::vector<index_t>
      tile;  ///< extents of a tile in the array's axes; the last ones may be shorter
  std::vector<index_t> count;  ///< number of tiles along each axis
  index_t bytes = 0;           ///< of a whole tile
  index_t read_run = 0;        ///< contiguous bytes of a tile in the array
  index_t write_run = 0;       ///< contiguous bytes of a tile in the result

  [[nodiscard]] index_t total() const;
  /// Returns tile `number` as ranges in the array's axes; consecutive tiles are neighbours along
  /// its last axis.
  [[nodiscard]] std::vector<layout::Range> of(index_t number,
                                              std::span<const index_t> extents) const;
};

/// Returns tiles of at most most_bytes (but at least one element) that maximise, by halving, the
/// shorter of the runs in the two files: about the square root of the memory in both, for any size
/// of the array. Tiles are whole chunks if possible, so that no chunk is decompressed twice.
/// Theta(1 + N/B) transfers for tiles of B^2 elements and more, as Aggarwal and Vitter (1988) for
/// transposition with M > B^2.
[[nodiscard]] Tiles plan_tiles(const Permutation& permutation, index_t most_bytes);

}  // namespace tessera::inline v1::dist::transpose
