#include "layout/grid_layout.hpp"

#include <algorithm>

namespace tessera::inline v1::layout {
namespace {

constexpr int directions = 27;

/// Returns the step of a direction: -1, 0 or 1 in each dimension.
Index3 direction(int number) { return {{number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1}}; }
constexpr int opposite(int number) { return directions - 1 - number; }
constexpr int own = directions / 2;

/// Returns the neighbour in a direction; none beyond a non-periodic border or along an undivided
/// dimension.
std::optional<index_t> neighbour(const GridLayout& grid, index_t rank, Index3 step,
                                 const std::array<bool, 3>& periodic) {
  Index3 at = grid.place(rank);
  for (int d = 0; d < 3; ++d) {
    if (step[d] == 0) continue;
    if (grid.parts[d] == 1) return std::nullopt;
    at[d] += step[d];
    if (periodic[static_cast<std::size_t>(d)]) at[d] = (at[d] + grid.parts[d]) % grid.parts[d];
    if (at[d] < 0 || at[d] >= grid.parts[d]) return std::nullopt;
  }
  return grid.rank_at(at);
}

enum class Layers { inner, outer };

/// Returns the layers of `depth` points of a box of extent `size` on the side of a direction,
/// inside or outside of the box.
Box3 layers(Index3 size, Index3 step, Index3 depth, Layers where) {
  Box3 box{{}, size};
  for (int d = 0; d < 3; ++d) {
    const bool inner = where == Layers::inner;
    if (step[d] < 0) {
      box.low[d] = inner ? 0 : -depth[d];
      box.high[d] = inner ? depth[d] : 0;
    } else if (step[d] > 0) {
      box.low[d] = inner ? size[d] - depth[d] : size[d];
      box.high[d] = inner ? size[d] : size[d] + depth[d];
    }
  }
  return box;
}

std::vector<HaloPiece> pieces(const GridLayout& grid, index_t rank, Index3 depth,
                              const std::array<bool, 3>& periodic, Layers where) {
  std::vector<HaloPiece> result;
  if (rank >= grid.active()) return result;
  const Index3 size = grid.of(rank).size();
  for (int number = 0; number < directions; ++number) {
    if (number == own) continue;
    const Index3 step = direction(number);
    const auto peer = neighbour(grid, rank, step, periodic);
    const Box3 box = layers(size, step, depth, where);
    if (!peer || box.empty()) continue;
    // Halos received from a direction travel in the opposite one.
    result.push_back({*peer, where == Layers::inner ? number : opposite(number), box});
  }
  return result;
}

index_t largest(index_t extent, index_t parts) { return ceil_div(extent, parts); }

}  // namespace

Index3 GridLayout::place(index_t rank) const {
  return {{rank / (parts[1] * parts[2]), rank / parts[2] % parts[1], rank % parts[2]}};
}

index_t GridLayout::rank_at(Index3 at) const {
  return (at[0] * parts[1] + at[1]) * parts[2] + at[2];
}

Box3 GridLayout::of(index_t rank) const {
  Box3 box;
  if (rank >= active()) return box;
  const Index3 at = place(rank);
  for (int d = 0; d < 3; ++d) {
    const Range mine = range(d, at[d]);
    box.low[d] = mine.begin;
    box.high[d] = mine.end;
  }
  return box;
}

Range GridLayout::range(int d, index_t part) const {
  const auto& cut = cuts[static_cast<std::size_t>(d)];
  if (cut.empty()) return BlockMap(global[d], parts[d]).range(part);
  const auto at = static_cast<std::size_t>(part);
  return {cut[at], cut[at + 1]};
}

index_t GridLayout::shortest(int d) const {
  if (cuts[static_cast<std::size_t>(d)].empty()) return global[d] / parts[d];
  index_t least = global[d];
  for (index_t part = 0; part < parts[d]; ++part) least = std::min(least, range(d, part).size());
  return least;
}

bool fits(const Index3& parts, const GridRequest& request) {
  for (int d = 0; d < 3; ++d) {
    if (parts[d] > 1 && request.global[d] / parts[d] < std::max<index_t>(request.depth[d], 1))
      return false;
  }
  return true;
}

double halo_elements(const Index3& parts, const GridRequest& request) {
  double inner = 1, outer = 1;
  for (int d = 0; d < 3; ++d) {
    const index_t n = largest(request.global[d], parts[d]);
    const index_t sides = parts[d] == 1                                                     ? 0
                          : parts[d] == 2 && !request.periodic[static_cast<std::size_t>(d)] ? 1
                                                                                            : 2;
    const index_t layer = d == 2 ? round_up(request.depth[d], request.line) : request.depth[d];
    inner *= static_cast<double>(n);
    outer *= static_cast<double>(n + sides * layer);
  }
  return outer - inner;
}

GridLayout choose_grid(const GridRequest& request) {
  for (index_t ranks = request.ranks; ranks > 1; --ranks) {
    std::optional<Index3> best;
    for (index_t x = 1; x <= ranks;
         ++x) {  // few along x first: ties favour cuts of slow dimensions
      if (ranks % x != 0) continue;
      for (index_t y = 1; y <= ranks / x; ++y) {
        if (ranks / x % y != 0) continue;
        const Index3 parts{{ranks / x / y, y, x}};
        if (!fits(parts, request)) continue;
        if (!best || halo_elements(parts, request) < halo_elements(*best, request)) best = parts;
      }
    }
    if (best) return {request.global, *best, request.ranks};
  }
  return {request.global, {{1, 1, 1}}, request.ranks};
}

std::optional<GridLayout> weighted_grid(const GridRequest& request,
                                        const std::vector<double>& weights) {
  const auto least = [&](int d) { return std::max<index_t>(request.depth[d], 1); };
  int longest = 0;
  for (int d = 1; d < 3; ++d) {
    if (request.global[d] / least(d) > request.global[longest] / least(longest)) longest = d;
  }
  GridLayout grid{request.global, {{1, 1, 1}}, request.ranks};
  grid.parts[longest] = request.ranks;
  if (!fits(grid.parts, request)) return std::nullopt;
  grid.cuts[static_cast<std::size_t>(longest)] =
      weighted_offsets(request.global[longest], weights, least(longest));
  return grid;
}

std::string parts_text(const Index3& parts, int dims) {
  std::string text;
  for (int d = 3 - dims; d < 3; ++d) text += (text.empty() ? "" : "x") + std::to_string(parts[d]);
  return text;
}

std::vector<HaloPiece> halo_receives(const GridLayout& grid, index_t rank, Index3 depth,
                                     const std::array<bool, 3>& periodic) {
  return pieces(grid, rank, depth, periodic, Layers::outer);
}

std::vector<HaloPiece> halo_sends(const GridLayout& grid, index_t rank, Index3 depth,
                                  const std::array<bool, 3>& periodic) {
  return pieces(grid, rank, depth, periodic, Layers::inner);
}

}  // namespace tessera::inline v1::layout
