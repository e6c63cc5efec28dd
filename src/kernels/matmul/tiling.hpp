#pragma once
// The choice of a tile of C, and of a number of cuts along k, for the shape of a device product: by
// the cycles that each would take.

#include <algorithm>
#include <limits>
#include <span>

#include "base/index.hpp"

namespace tessera::inline v1::matmul {

/// What a tile (m, n), multiplied in stages of k, costs a multiprocessor that holds `blocks` of
/// them, in cycles: per element along k, of a block that is alone there (latencies) and of one
/// among others (its share of the busiest unit); of the beginning and the end of a block; and
/// before the first can begin. most_cuts: blocks of a cluster that its kernel supports.
struct TileCost {
  int m = 0, n = 0, k = 0, blocks = 1, most_cuts = 1;
  double alone = 0, busy = 0, begin = 0, before = 0;
};

struct TileCycles {
  double alone, busy, begin;
};
/// Returns the costs of a kernel's tile, which up to 16 blocks share if it may be cut (8, for which
/// any device has room, where a multiprocessor holds one block only).
template <class Tile>
constexpr TileCost cost_of(const TileCycles& cycles) {
  return {.m = Tile::m,
          .n = Tile::n,
          .k = Tile::k,
          .blocks = Tile::blocks,
          .most_cuts = !Tile::cut         ? 1
                       : Tile::blocks > 1 ? 16
                                          : 8,
          .alone = cycles.alone,
          .busy = cycles.busy,
          .begin = cycles.begin};
}

/// Returns a cost that is never the lowest unless the device can run the tile.
[[nodiscard]] inline TileCost if_fits(bool fits, TileCost tile) {
  if (!fits) tile.before = std::numeric_limits<double>::infinity();
  return tile;
}

struct TilingLimits {
  int multiprocessors = 1;
  bool clusters = false;
};

/// A tile, by its number, and the equal parts of k that different blocks sum.
struct Tiling {
  int tile = 0, cuts = 1;
  double cycles = std::numeric_limits<double>::infinity();
};

/// Returns the cycles until the busiest multiprocessor has finished. Clusters are within groups of
/// 16 multiprocessors. The constants, as those of the tiles, were fitted to times of 180 products
/// on an H200.
[[nodiscard]] inline double tiling_cycles(const TileCost& tile, int cuts, index_t m, index_t n,
                                          index_t k, int multiprocessors) {
  constexpr double meet = 2500, meet_each = 60, store = 0.5;
  constexpr index_t in_group = 16;
  const index_t tiles = ceil_div(m, index_t{tile.m}) * ceil_div(n, index_t{tile.n});
  const index_t groups = std::max<index_t>(1, multiprocessors / in_group);
  const index_t here = cuts == 1 ? ceil_div(tiles, index_t{multiprocessors})
                                 : ceil_div(ceil_div(tiles, groups) * cuts, in_group);
  const index_t waves = cuts == 1 ? ceil_div(here, index_t{tile.blocks})
                                  : ceil_div(tiles, groups * (in_group * tile.blocks / cuts));
  const auto depth =
      static_cast<double>(ceil_div(ceil_div(k, index_t{tile.k}), index_t{cuts}) * tile.k);
  const auto blocks = static_cast<double>(here), rounds = static_cast<double>(waves);
  return tile.before + depth * std::max(rounds * tile.alone, blocks * tile.busy) +
         rounds * tile.begin + (cuts > 1 ? meet + meet_each * cuts : 0) +
         store * blocks * tile.m * tile.n / cuts;
}

/// Returns the fastest tiling.
[[nodiscard]] inline Tiling cheapest_tiling(std::span<const TileCost> tiles, index_t m, index_t n,
                                            index_t k, const TilingLimits& limits) {
  Tiling best;
  for (int number = 0; number < static_cast<int>(tiles.size()); ++number) {
    const TileCost& tile = tiles[static_cast<std::size_t>(number)];
    const index_t stages = std::max(ceil_div(k, index_t{tile.k}), index_t{1});
    const index_t most = limits.clusters ? std::min(index_t{tile.most_cuts}, stages) : 1;
    for (int cuts = 1; cuts <= most; ++cuts) {
      const double cycles = tiling_cycles(tile, cuts, m, n, k, limits.multiprocessors);
      if (cycles < best.cycles) best = {number, cuts, cycles};
    }
  }
  return best;
}

}  // namespace tessera::inline v1::matmul
