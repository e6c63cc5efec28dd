#pragma once
// Which block of threads multiplies which part of which tile of C, where blocks stay and the tiles
// do not come out even: the last rounds of tiles are cut along k into as many equal shares as there
// are blocks (Osama et al., "Stream-K", 2023).

#include "base/error.hpp"
#include "base/index.hpp"

namespace tessera::matmul {

/// Steps [begin, end) along k of a tile.
struct Part {
  int tile = 0, begin = 0, end = 0;
};

/// Tiles of `steps` steps each for `blocks` blocks: the first `whole` tiles go round in turn, the
/// rest in equal shares. whole == tiles: nothing is cut; else there is at least a step for every
/// block.
struct Shares {
  int tiles = 0, steps = 0, blocks = 1, whole = 0;

  /// The block's share of the steps in the tiles that are cut begins here.
  [[nodiscard]] TESSERA_HD index_t share_begin(int block) const {
    return static_cast<index_t>(tiles - whole) * steps * block / blocks;
  }
  /// The tile is cut, and this part is not its first: the block that has that one adds this to it.
  [[nodiscard]] TESSERA_HD bool adds_elsewhere(const Part& part) const { return part.begin > 0; }
  /// How many blocks after the one with this part, the tile's first, have parts of the tile too.
  [[nodiscard]] TESSERA_HD int helpers(const Part& part, int block) const {
    if (part.end == steps) return 0;
    const index_t tile_end = static_cast<index_t>(part.tile - whole + 1) * steps;
    int count = 0;
    while (share_begin(block + 1 + count) < tile_end) ++count;
    return count;
  }
};

/// The parts of a block in their order: what it adds elsewhere comes early, what it waits for last.
class Parts {
 public:
  TESSERA_HD Parts(const Shares& shares, int block)
      : shares_(shares),
        tile_(block),
        at_(shares.share_begin(block)),
        end_(shares.share_begin(block + 1)) {}

  /// The next one, if there is one.
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

/// Whole tiles to all but the last round and what is left over, where that spares the blocks enough
/// steps to pay for the sums that go through memory.
[[nodiscard]] inline Shares shares_of(int tiles, int steps, int blocks) {
  constexpr double worth =
      32;  // steps of a block: f64 65536 x 128 x 128, 3.9 rounds of 8 steps, lost a tenth
  const int rounds = tiles / blocks;
  const double spared = (rounds + 1 - static_cast<double>(tiles) / static_cast<double>(blocks)) *
                        static_cast<double>(steps);
  Shares shares{tiles, steps, blocks, tiles};
  if (rounds >= 2 && tiles % blocks != 0 && spared > worth) shares.whole = (rounds - 1) * blocks;
  return shares;
}

}  // namespace tessera::matmul
