#pragma once
// An array larger than memory, permuted from file to file in tiles: pure arithmetic.

#include <span>
#include <vector>

#include "layout/block_map.hpp"

namespace tessera::dist::transpose {

/// An array and what becomes of it: axis k of the result is axis axes[k] of the array.
struct Permutation {
  std::vector<index_t> extents;
  std::vector<int> axes;
  index_t bytes = 8;           ///< of an element
  std::vector<index_t> chunk;  ///< in which the array is stored; empty when it is contiguous
};

/// A cut of the array into tiles, each read, permuted and written once.
struct Tiles {
  std::vector<index_t>
      tile;  ///< extents of a tile in the array's axes; those at the ends may be shorter
  std::vector<index_t> count;  ///< of tiles along each axis
  index_t bytes = 0;           ///< of a whole tile
  index_t read_run = 0;        ///< contiguous bytes of the array that a tile consists of
  index_t write_run = 0;       ///< contiguous bytes of the result

  [[nodiscard]] index_t total() const;
  /// Tile `number` as ranges in the array's axes; consecutive ones are neighbours along its last
  /// axis.
  [[nodiscard]] std::vector<layout::Range> of(index_t number,
                                              std::span<const index_t> extents) const;
};

/// Tiles of at most most_bytes (but at least one element), with the shorter of the runs in the two
/// files as long as halving can make it: about the square root of the memory on either side,
/// whatever the size of the array. While a tile can be whole chunks it is, so that no chunk is
/// decompressed twice. Theta(1 + N/B) transfers for tiles of B^2 elements and more, as Aggarwal and
/// Vitter (1988) for transposition with M > B^2.
[[nodiscard]] Tiles plan_tiles(const Permutation& permutation, index_t most_bytes);

}  // namespace tessera::dist::transpose
