#pragma once
// The division of tiles of C among persistent thread blocks when tiles do not divide evenly: the
// last rounds of tiles are cut along k into equal shares, one per block (Osama et al., "Stream-K",
// 2023).

#include "base/error.hpp"
#include "base/index.hpp"

namespace tessera::inline v1::matmul {

/// Steps [begin, end) along k of a tile.
struct Part {
  int tile = 0, begin = 0, end = 0;
};

/// The division of tiles of `steps` steps each among `blocks` blocks: the first `whole` tiles are
/// dealt in turn, the others in equal shares. whole == tiles: no tile is cut; otherwise every block
/// has at least one step.
struct Shares {
  int tiles = 0, steps = 0, blocks = 1, whole = 0;

  /// Returns the start of the block's share of the steps in the tiles that are cut.
  [[nodiscard]] TESSERA_HD index_t share_begin(int block) const {
    return static_cast<index_t>(tiles - whole) * steps * block / blocks;
  }
  /// Returns whether this part is not the first of its tile; the block with the first part then
  /// adds it.
  [[nodiscard]] TESSERA_HD bool adds_elsewhere(const Part& part) const { return part.begin > 0; }
  /// Returns how many blocks after `block`, which has the tile's first part, have further parts of
  /// the tile.
  [[nodiscard]] TESSERA_HD int helpers(const Part& part, int block) const {
    if (part.end == steps) return 0;
    const index_t tile_end = static_cast<index_t>(part.tile - whole + 1) * steps;
    int count = 0;
    while (share_begin(block + 1 + count) < tile_end) ++count;
    return count;
  }
};

/// The parts of a block in order: first those that another block adds, last those that wait for
/// others.
class Parts {
 public:
  TESSERA_HD Parts(const Shares& shares, int block)
      : shares_(shares),
        tile_(block),
        at_(shares.share_begin(block)),
        end_(shares.share_begin(block + 1)) {}

  /// Advances to the next part; returns false at the end.
  [[nodiscard]] TESSERA_HD bool next(Part& part) {
    if (tile_ < shares_.whole) {
      part = {tile_, 0, shares_.steps};
      tile_ += shares_.blocks;
      return true;
    }
    if (at_ >= end_) return false;
    part.tile = shares_.whole + static_cast<int>(at_ / shares_.steps);
    part.begin = static_cast<int>(at_ % shares_.steps);
    const index_t left = end_ - at_;
    part.end =
        left < shares_.steps - part.begin ? part.begin + static_cast<int>(left) : shares_.steps;
    at_ += part.end - part.begin;
    return true;
  }

 private:
  Shares shares_;
  int tile_;
  index_t at_, end_;
};

/// Returns shares in which the tiles of the last full round and the remainder are cut, if that
/// saves the blocks enough steps to pay for exchanging sums through memory.
[[nodiscard]] inline Shares shares_of(int tiles, int steps, int blocks) {
  constexpr double worth =
      32;  // steps per block: f64 65536 x 128 x 128, 3.9 rounds of 8 steps, lost a tenth
  const int rounds = tiles / blocks;
  const double spared = (rounds + 1 - static_cast<double>(tiles) / static_cast<double>(blocks)) *
                        static_cast<double>(steps);
  Shares shares{tiles, steps, blocks, tiles};
  if (rounds >= 2 && tiles % blocks != 0 && spared > worth) shares.whole = (rounds - 1) * blocks;
  return shares;
}

}  // namespace tessera::inline v1::matmul
