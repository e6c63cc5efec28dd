#pragma once
// Passes of several steps (temporal blocking with overlapped tiles): the assignment of points to
// tiles. A tile computes all steps on a span of points and keeps those that no value from beyond
// its ends has reached. Arithmetic only; tested on the host.

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/stencil/cuda_sweep.hpp"

namespace tessera::inline v1::stencil {

/// One dimension of a pass.
struct Axis {
  index_t begin = 0, end = 1;          ///< points with valid values before the pass
  index_t out_begin = 0, out_end = 1;  ///< points that it computes
  bool wrapped = false;                ///< periodic: beyond each end the other end follows
  bool edge[2] = {false, false};       ///< sides with a boundary condition
  Boundary kind[2] = {Boundary::clamp, Boundary::clamp};

  [[nodiscard]] TESSERA_HD bool constant(int side) const {
    return kind[side] == Boundary::constant;
  }
  [[nodiscard]] TESSERA_HD bool fixed(int side) const { return is_fixed(kind[side]); }
  [[nodiscard]] TESSERA_HD bool mirrors(int side) const {
    return edge[side] && kind[side] == Boundary::mirror;
  }
  /// Returns the index in [begin, end) to read for any index; values beyond ends that do not wrap
  /// are never used.
  [[nodiscard]] TESSERA_HD index_t readable(index_t i) const {
    if (i >= begin && i < end) return i;
    if (!wrapped) return i < begin ? begin : end - 1;
    const index_t n = end - begin, away = (i - begin) % n;
    return begin + (away < 0 ? away + n : away);
  }
};

/// The spans of an axis, each `span` points from start(i) on: first + i * advance, but at most
/// `latest`. Each keeps [low(i), high(i)).
struct Tiles {
  index_t first, advance, span, halo, count, out_begin, out_end;
  index_t latest = std::numeric_limits<index_t>::max();
  [[nodiscard]] TESSERA_HD index_t start(index_t i) const {
    const index_t regular = first + i * advance;
    return regular < latest ? regular : latest;
  }
  [[nodiscard]] TESSERA_HD index_t low(index_t i) const {
    return i == 0 ? out_begin : first + i * advance + halo;
  }
  [[nodiscard]] TESSERA_HD index_t high(index_t i) const {
    return i == count - 1 ? out_end : first + i * advance + span - halo;
  }
};

/// Returns whether the tile reads beyond the valid points or contains a boundary condition.
[[nodiscard]] TESSERA_HD inline bool at_end(const Axis& axis, index_t begin, index_t end) {
  return begin < axis.begin || end > axis.end || (axis.edge[0] && begin == axis.begin) ||
         (axis.edge[1] && end == axis.end);
}

/// Returns the tiles of an axis. halo: points that a pass invalidates at either end of a tile,
/// rounded up to the alignment. Tiles begin at multiples of the alignment. At an edge no points are
/// invalidated, because the boundary condition applies there. If an axis ends at an edge, the last
/// of several tiles ends there, as closely as the alignment permits.
[[nodiscard]] inline Tiles tiles_of(const Axis& axis, index_t span, index_t halo,
                                    index_t alignment) {
  Tiles tiles{0, span - 2 * halo, span, halo, 1, axis.out_begin, axis.out_end};
  const index_t below = ((axis.out_begin % alignment) + alignment) % alignment;
  tiles.first = axis.edge[0] ? axis.begin : axis.out_begin - below - halo;
  const index_t wanted = axis.edge[1] ? axis.end : axis.out_end + halo;
  if (tiles.first + span < wanted)
    tiles.count = 1 + ceil_div(wanted - tiles.first - span, tiles.advance);
  if (axis.edge[1] && tiles.count > 1)
    tiles.latest = tiles.first + round_up(axis.end - span - tiles.first, alignment);
  return tiles;
}

/// Returns a dimension of a sweep in a pass from `done` steps to `done + steps`.
template <class T>
[[nodiscard]] Axis axis_of(const DeviceSweep<T>& s, int d, index_t done, index_t steps) {
  const Region after = s.valid(done + steps);
  const auto around = [&](int side) {
    return s.part.front[d][side] == Front::stays ? index_t{0} : s.radius[d] * steps;
  };
  Axis axis{after.low[d] - around(0), after.high[d] + around(1), after.low[d], after.high[d]};
  axis.wrapped = s.line[d].kind[0] == Boundary::periodic && !s.line[d].exchanged[0];
  for (int side = 0; side < 2; ++side) {
    axis.edge[side] = !axis.wrapped && s.part.front[d][side] == Front::stays;
    axis.kind[side] = s.line[d].kind[side];
  }
  return axis;
}

/// Returns the steps of the next pass, counted backwards from the last: one of `lengths`
/// (ascending), at most `most` if any is, and never such that a single step remains. 1 if no pass
/// of several steps fits.
template <int count>
[[nodiscard]] index_t last_pass(index_t left, index_t most, const int (&lengths)[count]) {
  for (int i = count - 1; i >= 0; --i) {
    const index_t length = lengths[i];
    if (length <= left && length <= most && left - length != 1) return length;
  }
  return 1;
}

/// Returns the steps of all passes in ascending order.
template <int count>
[[nodiscard]] std::vector<index_t> pass_lengths(index_t steps, index_t most,
                                                const int (&lengths)[count]) {
  std::vector<index_t> passes;
  for (index_t left = steps; left > 0; left -= passes.back())
    passes.push_back(last_pass(left, most, lengths));
  std::sort(passes.begin(), passes.end());
  return passes;
}

}  // namespace tessera::inline v1::stencil
