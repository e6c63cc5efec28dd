#pragma once
// A sweep as device kernels see it: the layout of the points and ghost layers of a box, and the
// stencil's weights. Arithmetic only; tested on the host.

#include "base/half.hpp"
#include "kernels/stencil/sweep.hpp"

namespace tessera::inline v1::stencil {

/// One dimension of a box, in local indices.
struct Line {
  index_t begin = 0,
          end = 1;                 ///< independent points: of the box and of exchanged halos
  index_t before = 0, after = 0;   ///< ghost layers that the sweep itself updates
  index_t origin = 0, global = 1;  ///< position of the box in the field
  Boundary kind[2] = {Boundary::clamp, Boundary::clamp};
  double value[2] = {0, 0};
  index_t plain_begin = 0, plain_end = 1;  ///< points that no ghost repeats
  bool exchanged[2] = {false, false};

  [[nodiscard]] TESSERA_HD bool inside(index_t i) const { return i >= begin && i < end; }
  [[nodiscard]] TESSERA_HD bool plain(index_t i) const { return i >= plain_begin && i < plain_end; }
  /// Returns the side of an index that is not inside.
  [[nodiscard]] TESSERA_HD int side(index_t i) const { return i < begin ? 0 : 1; }
  [[nodiscard]] TESSERA_HD bool fixed(int side) const { return is_fixed(kind[side]); }
  /// Returns the point whose value ghost i repeats. Precondition: its side is not fixed.
  [[nodiscard]] TESSERA_HD index_t source(index_t i) const {
    return source_index(kind[side(i)], i + origin, global) - origin;
  }
  /// Returns candidate k of 1 + before + after: point p itself, then the ghosts of this dimension.
  [[nodiscard]] TESSERA_HD index_t candidate(index_t k, index_t p) const {
    return k == 0 ? p : k <= before ? begin - k : end + (k - before - 1);
  }
  /// Returns whether the candidate has p's value.
  [[nodiscard]] TESSERA_HD bool repeats(index_t k, index_t p) const {
    if (k == 0) return true;
    const index_t ghost = candidate(k, p);
    return !fixed(side(ghost)) && source(ghost) == p;
  }
};

/// The origin of a ghost's value.
template <class T>
struct Ghost {
  From from;
  Index3 at;  ///< point: an inside point; given: where the caller wrote the value
  T value;    ///< for constant
};

/// Returns the origin of a ghost's value; the rule of z applies first, then y, then x.
template <class T>
[[nodiscard]] TESSERA_HD Ghost<T> ghost_of(const Line (&line)[3], Index3 ghost) {
  for (int d = 0; d < 3; ++d) {
    if (line[d].inside(ghost[d])) continue;
    const int side = line[d].side(ghost[d]);
    switch (origin_of(line[d].kind[side])) {
      case From::point:
        ghost[d] = line[d].source(ghost[d]);
        break;
      case From::constant:
        return {From::constant, ghost, static_cast<T>(line[d].value[side])};
      case From::given:
        return {From::given, ghost, T{0}};
    }
  }
  return {From::point, ghost, T{0}};
}

/// The points [low, high) of a step or a pass.
struct Region {
  Index3 low, high;
  [[nodiscard]] TESSERA_HD index_t size(int d) const { return high[d] - low[d]; }
  [[nodiscard]] TESSERA_HD bool empty() const {
    return size(0) <= 0 || size(1) <= 0 || size(2) <= 0;
  }
};

/// The motion, per step, of an end of the points that a sweep computes, by the reach of the
/// stencil.
enum class Front : signed char {
  stays,     ///< stays at a side of the field
  retreats,  ///< retreats from the points that were valid before the first step
  advances,  ///< advances over points that an earlier part has left
};

/// A part of a box: the points [low, high) after the last step of a sweep. If the front of one part
/// retreats where that of an adjacent part advances, both together compute every point of every
/// step once, in the same memory: the first part has not overwritten what the second reads, if no
/// pass is longer than the next one.
struct Part {
  Index3 low, high;
  Front front[3][2] = {};
};

constexpr int largest_square = 4;  // radius
constexpr int most_weights = (2 * largest_square + 1) * (2 * largest_square + 1);

/// A sweep of a box whose levels are in device memory. Kernels take it by value.
template <class T>
struct DeviceSweep {
  int dims = 2;
  Index3 extent;  ///< of the owned box
  Line line[3];
  Part part;  ///< the points to compute
  Index3 radius;
  index_t steps = 0;                 ///< at most as many as the lines have halos for
  T* level[2] = {nullptr, nullptr};  ///< the point (0, 0, 0); level 0 before the first step
  Index3 stride;

  Form form = Form::chain;
  Rule rule = Rule::linear;
  bool two_levels = false;
  Arithmetic<T> previous = 0;
  int star = 0;         ///< radius of a star with all its taps, possibly except the middle one;
                        ///< otherwise 0
  bool hollow = false;  ///< without the middle tap
  int square = 0;       ///< radius of a chain over a whole square in two dimensions; otherwise 0
  Arithmetic<T> weight[most_weights]{};  ///< of a star or square: (z, y, x) ascending, zero for a
                                         ///< missing middle; of a box: [0]
  index_t taps = 0;                      ///< of any stencil, in device memory
  const Arithmetic<T>* tap_weight = nullptr;
  const Index3* tap_place = nullptr;

  [[nodiscard]] TESSERA_HD bool plain(Index3 p) const {
    return line[0].plain(p[0]) && line[1].plain(p[1]) && line[2].plain(p[2]);
  }
  [[nodiscard]] TESSERA_HD index_t place(Index3 p) const {
    return p[0] * stride[0] + p[1] * stride[1] + p[2];
  }
  /// Returns the points that are valid after `done` steps.
  [[nodiscard]] Region valid(index_t done) const {
    Region region{part.low, part.high};
    const auto to_go = [&](int d, int side) {
      const index_t points = radius[d] * (steps - done);
      const Front front = part.front[d][side];
      return front == Front::stays ? 0 : front == Front::retreats ? points : -points;
    };
    for (int d = 0; d < 3; ++d) {
      region.low[d] -= to_go(d, 0);
      region.high[d] += to_go(d, 1);
    }
    return region;
  }
  /// Returns all points and ghosts in memory.
  [[nodiscard]] Box3 all() const {
    Box3 box;
    for (int d = 0; d < 3; ++d) {
      box.low[d] = line[d].begin - line[d].before;
      box.high[d] = line[d].end + line[d].after;
    }
    return box;
  }
};

/// The strides and elements of a level on the device, and the position of its point (0, 0, 0).
struct DeviceShape {
  Index3 stride;
  index_t origin, count;
};
/// Returns the layout. Points with x = 0 are at multiples of 128 bytes, so that vectors are
/// aligned; kernels read up to 64 bytes before a row's ghosts, and some rows after the last one.
[[nodiscard]] DeviceShape device_shape(const Line (&line)[3], index_t element_bytes);

/// Returns the sweep without its memory: the caller sets level, tap_weight and tap_place.
template <class T>
[[nodiscard]] DeviceSweep<T> device_sweep(const Sweep<T>& sweep);

/// The passes of a kernel over a sweep.
struct Passes {
  index_t count = 0;  ///< successive launches, each from one level to the other
  bool reads_ghosts =
      false;  ///< ghosts other than constant or given ones, which must be filled before
};

}  // namespace tessera::inline v1::stencil
