// Tiles of an out-of-core permutation by halving axes until they fit.

#include "dist/transpose/tiles.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::inline v1::dist::transpose {
namespace {

/// Returns the number of contiguous elements of a tile in an array of those extents, with the axes
/// in the given order.
index_t run_length(const Permutation& p, const std::vector<index_t>& tile,
                   std::span<const int> order) {
  index_t run = 1;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    const auto a = static_cast<std::size_t>(*axis);
    run *= tile[a];
    if (tile[a] < p.extents[a]) break;
  }
  return run;
}

struct TilePlanner {
  const Permutation& p;
  std::vector<int> own_order;
  std::vector<index_t> tile;

  [[nodiscard]] index_t shorter_run() const {
    return std::min(run_length(p, tile, own_order), run_length(p, tile, p.axes));
  }
  [[nodiscard]] index_t volume() const {
    return std::accumulate(tile.begin(), tile.end(), index_t{1}, std::multiplies<>());
  }

  /// Halves, in multiples of `units`, the axis that leaves the longer runs; among equals the
  /// outermost. Returns false if no axis is longer than a unit.
  bool halve(const std::vector<index_t>& units) {
    int best = -1;
    index_t best_run = 0;
    for (std::size_t a = 0; a < tile.size(); ++a) {
      if (tile[a] <= units[a]) continue;
      const index_t before = tile[a];
      tile[a] = half(before, units[a]);
      if (best < 0 || shorter_run() > best_run) {
        best = static_cast<int>(a);
        best_run = shorter_run();
      }
      tile[a] = before;
    }
    if (best < 0) return false;
    const auto a = static_cast<std::size_t>(best);
    tile[a] = half(tile[a], units[a]);
    return true;
  }

  /// Returns less than the extent if that is more than a unit.
  static index_t half(index_t extent, index_t unit) { return round_up(ceil_div(extent, 2), unit); }
};

}  // namespace

index_t Tiles::total() const {
  return std::accumulate(count.begin(), count.end(), index_t{1}, std::multiplies<>());
}

std::vector<layout::Range> Tiles::of(index_t number, std::span<const index_t> extents) const {
  std::vector<layout::Range> ranges(tile.size());
  for (std::size_t a = tile.size(); a-- > 0;) {
    const index_t begin = number % count[a] * tile[a];
    ranges[a] = {begin, std::min(extents[a], begin + tile[a])};
    number /= count[a];
  }
  return ranges;
}

Tiles plan_tiles(const Permutation& p, index_t most_bytes) {
  TilePlanner planner{p, {}, p.extents};
  std::vector<index_t> chunks(p.extents.size(), 1), ones(p.extents.size(), 1);
  for (std::size_t a = 0; a < p.extents.size(); ++a) {
    planner.own_order.push_back(static_cast<int>(a));
    if (!p.chunk.empty())
      chunks[a] = std::clamp<index_t>(p.chunk[a], 1, std::max<index_t>(1, p.extents[a]));
  }
  const index_t most = std::max<index_t>(1, most_bytes / p.bytes);
  while (planner.volume() > most && planner.halve(chunks)) continue;
  while (planner.volume() > most && planner.halve(ones)) continue;
  Tiles tiles{planner.tile, {}, planner.volume() * p.bytes, 0, 0};
  tiles.read_run = run_length(p, planner.tile, planner.own_order) * p.bytes;
  tiles.write_run = run_length(p, planner.tile, p.axes) * p.bytes;
  for (std::size_t a = 0; a < p.extents.size(); ++a)
    tiles.count.push_back(p.extents[a] == 0 ? 0 : ceil_div(p.extents[a], planner.tile[a]));
  return tiles;
}

}  // namespace tessera::inline v1::dist::transpose
