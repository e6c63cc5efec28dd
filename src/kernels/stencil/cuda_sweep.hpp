#pragma once
// A sweep as device kernels see it: where the points and the ghost layers of a box lie, and the
// stencil's weights. Arithmetic only; the host's tests run it too.

#include "base/half.hpp"
#include "kernels/stencil/sweep.hpp"

namespace tessera::stencil {

/// One dimension of a box, in local indices.
struct Line {
  index_t begin = 0,
          end = 1;  ///< points with values of their own: of the box and of exchanged halos
  index_t before = 0, after = 0;   ///< ghost layers that the sweep itself keeps right
  index_t origin = 0, global = 1;  ///< the place of the box in the field
  Boundary kind[2] = {Boundary::clamp, Boundary::clamp};
  double value[2] = {0, 0};
  index_t plain_begin = 0, plain_end = 1;  ///< points that no ghost repeats
  bool exchanged[2] = {false, false};

  [[nodiscard]] TESSERA_HD bool inside(index_t i) const { return i >= begin && i < end; }
  [[nodiscard]] TESSERA_HD bool plain(index_t i) const { return i >= plain_begin && i < plain_end; }
  /// Of an index that is not inside.
  [[nodiscard]] TESSERA_HD int side(index_t i) const { return i < begin ? 0 : 1; }
  [[nodiscard]] TESSERA_HD bool fixed(int side) const { return is_fixed(kind[side]); }
  /// The point whose value ghost i repeats; its side is not fixed. One fold without a division, as
  /// nearly all are.
  [[nodiscard]] TESSERA_HD index_t source(index_t i) const {
    const Boundary rule = kind[side(i)];
    const index_t p = i + origin;
    index_t folded = -1;
    switch (rule) {
      case Boundary::clamp:
        folded = p < 0 ? 0 : global - 1;
        break;
      case Boundary::mirror:
        folded = p < 0 ? -p : 2 * global - 2 - p;
        break;
      case Boundary::reflect:
        folded = p < 0 ? -1 - p : 2 * global - 1 - p;
        break;
      case Boundary::periodic:
        folded = p < 0 ? p + global : p - global;
        break;
      case Boundary::constant:
      case Boundary::given:
        break;
    }
    if (folded >= 0 && folded < global) return folded - origin;
    return source_index(rule, p, global) - origin;
  }
  /// Candidate number k of 1 + before + after: point p itself and then the ghosts of this
  /// dimension.
  [[nodiscard]] TESSERA_HD index_t candidate(index_t k, index_t p) const {
    return k == 0 ? p : k <= before ? begin - k : end + (k - before - 1);
  }
  /// Whether the candidate has p's value.
  [[nodiscard]] TESSERA_HD bool repeats(index_t k, index_t p) const {
    if (k == 0) return true;
    const index_t ghost = candidate(k, p);
    return !fixed(side(ghost)) && source(ghost) == p;
  }
};

/// What a ghost holds.
template <class T>
struct Ghost {
  enum class From { point, constant, given } from;
  Index3 at;  ///< of point: inside; of given: where the caller wrote it
  T value;    ///< of constant
};

/// The rule of z comes first, then that of y, then that of x.
template <class T>
[[nodiscard]] TESSERA_HD Ghost<T> ghost_of(const Line (&line)[3], Index3 ghost) {
  for (int d = 0; d < 3; ++d) {
    if (line[d].inside(ghost[d])) continue;
    const int side = line[d].side(ghost[d]);
    switch (line[d].kind[side]) {
      case Boundary::constant:
        return {Ghost<T>::From::constant, ghost, static_cast<T>(line[d].value[side])};
      case Boundary::given:
        return {Ghost<T>::From::given, ghost, T{0}};
      case Boundary::clamp:
      case Boundary::mirror:
      case Boundary::reflect:
      case Boundary::periodic:
        ghost[d] = line[d].source(ghost[d]);
    }
  }
  return {Ghost<T>::From::point, ghost, T{0}};
}

/// The points [low, high) of a step or a pass.
struct Region {
  Index3 low, high;
  [[nodiscard]] TESSERA_HD index_t size(int d) const { return high[d] - low[d]; }
  [[nodiscard]] TESSERA_HD bool empty() const {
    return size(0) <= 0 || size(1) <= 0 || size(2) <= 0;
  }
};

/// How an end of what a sweep computes moves from step to step, by as many points as the stencil
/// reaches.
enum class Front : signed char {
  stays,     ///< a side of the field
  retreats,  ///< from the points that are there before the first step
  advances,  ///< over points that a part computed before this one has left behind
};

/// A part of a box: the points [low, high) after the last step of a sweep. Parts that meet where
/// the front of the one retreats and that of the other advances compute every point of every step
/// once, in the same memory: what the second reads the first has not overwritten, if no pass is
/// longer than the next one.
struct Part {
  Index3 low, high;
  Front front[3][2] = {};
};

constexpr int largest_square = 4;  // radius
constexpr int most_weights = (2 * largest_square + 1) * (2 * largest_square + 1);

/// A sweep of a box whose levels lie in device memory. Kernels take it by value.
template <class T>
struct DeviceSweep {
  int dims = 2;
  Index3 extent;  ///< of the owned box
  Line line[3];
  Part part;  ///< what is computed
  Index3 radius;
  index_t steps = 0;                 ///< at most those that the lines have halos for
  T* level[2] = {nullptr, nullptr};  ///< the point (0, 0, 0); level 0 before the first step
  Index3 stride;

  Form form = Form::chain;
  Rule rule = Rule::linear;
  bool two_levels = false;
  Arithmetic<T> previous = 0;
  int star = 0;         ///< radius of a star with all its taps, perhaps but the middle one; else 0
  bool hollow = false;  ///< without the middle one
  int square = 0;       ///< radius of a chain over a whole square in two dimensions; else 0
  Arithmetic<T> weight[most_weights]{};  ///< of a star, a square: (z, y, x) ascending, zero in a
                                         ///< missing middle; a box: [0]
  index_t taps = 0;                      ///< of any stencil, in device memory
  const Arithmetic<T>* tap_weight = nullptr;
  const Index3* tap_place = nullptr;

  [[nodiscard]] TESSERA_HD bool plain(Index3 p) const {
    return line[0].plain(p[0]) && line[1].plain(p[1]) && line[2].plain(p[2]);
  }
  [[nodiscard]] TESSERA_HD index_t place(Index3 p) const {
    return p[0] * stride[0] + p[1] * stride[1] + p[2];
  }
  /// The points that are right after `done` steps.
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
  /// All points and ghosts that memory holds.
  [[nodiscard]] Box3 all() const {
    Box3 box;
    for (int d = 0; d < 3; ++d) {
      box.low[d] = line[d].begin - line[d].before;
      box.high[d] = line[d].end + line[d].after;
    }
    return box;
  }
};

/// Elements of a level on the device and where its point (0, 0, 0) is.
struct DeviceShape {
  Index3 stride;
  index_t origin, count;
};
/// Points with x = 0 lie at multiples of 128 bytes, so that vectors are aligned; kernels read up to
/// 64 bytes in front of a row's ghosts, and some rows behind the last one.
[[nodiscard]] DeviceShape device_shape(const Line (&line)[3], index_t element_bytes);

/// The sweep without its memory: level, tap_weight and tap_place are left to the caller.
template <class T>
[[nodiscard]] DeviceSweep<T> device_sweep(const Sweep<T>& sweep);

/// What a kernel makes of a sweep.
struct Passes {
  index_t count = 0;  ///< launches one after the other, each from one level to the other
  bool reads_ghosts =
      false;  ///< other than those that are constant or given: they have to be filled before
};

}  // namespace tessera::stencil
