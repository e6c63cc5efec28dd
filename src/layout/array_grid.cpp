#include "layout/array_grid.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/error.hpp"

namespace tessera::inline v1::layout {
namespace {

using Axes = std::span<const AxisParts>;

index_t product(Axes axes) {
  index_t all = 1;
  for (const AxisParts& axis : axes) {
    require_argument(!__builtin_mul_overflow(all, axis.extent, &all), "shape",
                     "has more elements than 64 bits count");
  }
  return all;
}

index_t places(Axes axes) {
  index_t all = 1;
  for (const AxisParts& axis : axes) all *= axis.size();
  return all;
}

bool is_whole(const Segments& segments, index_t extent) {
  return segments.size() == 1 && segments.front().global == Range{0, extent};
}

void append(Segments& to, const Segment& next) {
  if (!to.empty() && to.back().global.end == next.global.begin &&
      to.back().local + to.back().global.size() == next.local)
    to.back().global.end = next.global.end;
  else
    to.push_back(next);
}

/// Returns the product of the segments of slower axes and those of the next one.
Segments times(const Segments& slow, const Segments& fast, index_t extent) {
  Segments result;
  const index_t size = count(fast);
  for (const Segment& outer : slow) {
    if (is_whole(fast, extent)) {
      append(result,
             {{outer.global.begin * extent, outer.global.end * extent}, outer.local * extent});
      continue;
    }
    for (index_t i = 0; i < outer.global.size(); ++i) {
      const index_t first = (outer.global.begin + i) * extent;
      for (const Segment& inner : fast) {
        append(result, {{first + inner.global.begin, first + inner.global.end},
                        (outer.local + i) * size + inner.local});
      }
    }
  }
  return result;
}

/// Returns the segments of each place of a grid, the last axis fastest.
std::vector<Segments> by_place(Axes axes) {
  std::vector<Segments> result{{{{0, 1}, 0}}};
  for (const AxisParts& axis : axes) {
    std::vector<Segments> longer;
    for (const Segments& slow : result)
      for (const Segments& part : axis.parts) longer.push_back(times(slow, part, axis.extent));
    result = std::move(longer);
  }
  return result;
}

/// Returns about how many segments the flattened axes have at the first place.
double segments_of(Axes axes) {
  double outer = 1, most = 1;
  for (const AxisParts& axis : axes) {
    const Segments& first = axis.parts.front();
    if (!is_whole(first, axis.extent)) most = outer * static_cast<double>(first.size());
    outer *= static_cast<double>(count(first));
  }
  return most;
}

void check_ranks(const ArrayGrid& grid, index_t ranks) {
  const index_t all = places(grid.axes);
  const bool fits =
      grid.ranks.empty() ? all <= ranks : static_cast<index_t>(grid.ranks.size()) == all;
  require_argument(
      fits, "grid",
      fmt::format("has {} places: {} ranks do not fit", all,
                  grid.ranks.empty() ? ranks : static_cast<index_t>(grid.ranks.size())));
  std::vector<char> taken(static_cast<std::size_t>(ranks), 0);
  for (const index_t rank : grid.ranks) {
    require_argument(rank >= 0 && rank < ranks && taken[static_cast<std::size_t>(rank)]++ == 0,
                     "ranks",
                     fmt::format("has {}, which is repeated or not one of {} ranks", rank, ranks));
  }
}

}  // namespace

AxisParts in_shares(const BlockMap& map) {
  AxisParts axis{map.extent(), {}};
  for (index_t part = 0; part < map.parts(); ++part) {
    const Range range = map.range(part);
    axis.parts.push_back(range.empty() ? Segments{} : Segments{{range, 0}});
  }
  return axis;
}

AxisParts in_blocks(const CyclicMap& map) {
  AxisParts axis{map.extent, {}};
  for (index_t part = 0; part < map.parts; ++part)
    axis.parts.push_back(map.segments(part, {0, map.extent}));
  return axis;
}

AxisParts replicated(index_t extent, index_t parts) {
  const Segments all = extent > 0 ? Segments{{{0, extent}, 0}} : Segments{};
  return {extent, std::vector<Segments>(static_cast<std::size_t>(parts), all), true};
}

Distribution::Distribution(const ArrayGrid& grid, std::size_t row_axes, index_t ranks)
    : ranks_(ranks) {
  const Axes axes = grid.axes, rows = axes.first(row_axes), cols = axes.subspan(row_axes);
  check_ranks(grid, ranks);
  [[maybe_unused]] const index_t all = product(axes);
  rows_ = product(rows);
  cols_ = product(cols);
  row_segments_ = by_place(rows);
  col_segments_ = by_place(cols);
  const index_t across = places(cols);
  for (index_t place = 0; place < places(axes); ++place) {
    bool replica = false;
    index_t rest = place;
    for (std::size_t d = axes.size(); d-- > 0; rest /= axes[d].size())
      replica = replica || (axes[d].replicated && rest % axes[d].size() > 0);
    parts_.push_back({grid.ranks.empty() ? place : grid.ranks[static_cast<std::size_t>(place)], 0,
                      place / across, place % across, replica});
  }
}

Segments segments(const ArrayGrid& grid, std::size_t axis, index_t rank) {
  const auto at = std::ranges::find(grid.ranks, rank);
  index_t place = grid.ranks.empty() ? rank : at - grid.ranks.begin();
  if (place >= places(grid.axes)) return {};
  for (std::size_t d = grid.axes.size() - 1; d > axis; --d) place /= grid.axes[d].size();
  const AxisParts& cut = grid.axes[axis];
  return cut.parts[static_cast<std::size_t>(place % cut.size())];
}

ArrayGrid permuted(const ArrayGrid& grid, const std::vector<std::size_t>& axes) {
  ArrayGrid result;
  for (const std::size_t axis : axes) result.axes.push_back(grid.axes[axis]);
  std::vector<index_t> stride(axes.size(), 1), step(axes.size(), 1);  // of places, by axis of grid
  for (std::size_t d = axes.size() - 1; d > 0; --d) {
    stride[d - 1] = stride[d] * grid.axes[d].size();
    step[axes[d - 1]] = step[axes[d]] * grid.axes[axes[d]].size();
  }
  result.ranks.resize(static_cast<std::size_t>(places(grid.axes)));
  for (index_t place = 0; place < places(grid.axes); ++place) {
    index_t there = 0;
    for (std::size_t d = 0; d < axes.size(); ++d)
      there += place / stride[d] % grid.axes[d].size() * step[d];
    result.ranks[static_cast<std::size_t>(there)] =
        grid.ranks.empty() ? place : grid.ranks[static_cast<std::size_t>(place)];
  }
  return result;
}

std::size_t fewest_segments(const ArrayGrid& a, const ArrayGrid& b) {
  std::size_t best = 1;
  double least = 0;
  for (std::size_t split = 1; split < a.axes.size(); ++split) {
    double sum = 0;
    for (const ArrayGrid* grid : {&a, &b}) {
      const Axes axes = grid->axes;
      sum += segments_of(axes.first(split)) + segments_of(axes.subspan(split));
    }
    if (split == 1 || sum < least) {
      least = sum;
      best = split;
    }
  }
  return best;
}

}  // namespace tessera::inline v1::layout
