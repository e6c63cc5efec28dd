#pragma once
// Cache-oblivious trapezoids in time and space, cut in all dimensions at once (Frigo and Strumpen
// 2005; hyperspace cuts: Tang et al. 2011). A zoid is cut along the slope at which values
// propagate, until a few of its time steps fit in cache. Theta(Z^(1/d)) fewer misses than sweeps
// step by step for caches of Z points in d dimensions.

#include <array>

#include "base/instrument.hpp"
#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::inline v1::stencil {
/// A space-time trapezoid. Step t in [t0, t1) computes, in every dimension d, low + (t - t0) *
/// d_low .. high + (t - t0) * d_high. `wrapped`: still the whole of a periodic dimension, which
/// starts again at 0 beyond its extent.
struct Zoid {
  struct Range {
    index_t low, high, d_low, d_high;
    bool wrapped;
  };
  index_t t0, t1;
  std::array<Range, 3> d;

  [[nodiscard]] index_t height() const { return t1 - t0; }
  [[nodiscard]] double volume() const {
    double points = static_cast<double>(height());
    for (const Range& r : d) {
      const index_t bottom = r.high - r.low, top = bottom + (r.d_high - r.d_low) * height();
      points *= 0.5 * static_cast<double>(bottom + top);
    }
    return points;
  }
};

inline constexpr double task_volume =
    1e6;  // point updates: 0.2 ms or more, a thousand times the cost of a task
inline constexpr index_t line_bytes = 64;
inline constexpr index_t planes_at_once = 4;  // as many as the vector kernels block
inline constexpr index_t points_at_once =
    2048;  // of a line: both levels of f64 fit in a first-level cache of 32 KiB

template <class T>
class Walk {
 public:
  Walk(const Sweep<T>& sweep, const Tuning& tuning)
      : engine_(sweep, Loops::vector, Stores::cached, tuning.isa), extent_(sweep.extent()) {
    const Stencil& stencil = sweep.stencil;
    const index_t line = line_bytes / static_cast<index_t>(sizeof(T));
    for (int d = 3 - stencil.dims; d < 3; ++d) slope_[d] = std::max<index_t>(stencil.radius[d], 1);
    // Along x zoids lean by whole cache lines, so that their rows begin and end at vectors.
    slope_[2] = round_up(slope_[2], line);
    const index_t reach =
        std::max<index_t>(1, std::max({stencil.radius[0], stencil.radius[1], stencil.radius[2]}));
    const auto chosen = [](index_t given, index_t otherwise) {
      return given > 0 ? given : otherwise;
    };
    const bool solid = stencil.dims == 3;
    // Tuned by measurement; a factor of two either way costs a few per cent, much shorter cuts of x
    // far more.
    base_steps_ = chosen(tuning.base_steps, std::max<index_t>(2, (solid ? 6 : 16) / reach));
    base_ = {{1, chosen(tuning.base_rows, 16 * reach),
              chosen(tuning.base_x, stencil.dims == 1 ? 16384 : 256 * line)}};
    slowest_ = 3 - stencil.dims;
    if (stencil.dims > 1) base_[slowest_] = chosen(tuning.base_long, solid ? 64 : 256);
  }

  void run() {
    const Sweep<T>& sweep = engine_.sweep();
    if (sweep.steps == 0 || extent_.volume() == 0) return;
    Zoid zoid{0, sweep.steps, {}};
    const Box3 first = engine_.region(0);
    for (int d = 0; d < 3; ++d) {
      const index_t radius = sweep.stencil.radius[d];
      zoid.d[static_cast<std::size_t>(d)] = {first.low[d], first.high[d],
                                             sweep.edge(d, 0) == Edge::exchanged ? radius : 0,
                                             sweep.edge(d, 1) == Edge::exchanged ? -radius : 0,
                                             sweep.edge(d, 0) == Edge::wrapped && radius > 0};
    }
    machine::parallel(sweep.threads, [&] { walk(zoid); });
  }

 private:
  /// The pieces of a range: those of stage 0 are independent of each other, that of stage 1 depends
  /// on those of stage 0.
  struct Pieces {
    std::array<Zoid::Range, 3> range;
    std::array<int, 3> stage;
    int count;
  };

  [[nodiscard]] Pieces cut(int d, const Zoid::Range& r, index_t height) const {
    const Pieces whole{{r}, {0}, 1};
    const index_t s = slope_[d], reach = s * height;
    const index_t bottom = r.high - r.low, top = bottom + (r.d_high - r.d_low) * height;
    // One slope more than the pieces need leaves space for the rounding below.
    if (s == 0 || std::min(bottom, top) < 2 * reach + 2 * s || std::max(bottom, top) <= base_[d])
      return whole;
    if (r.wrapped) {
      return {{{{r.low, r.high, s, -s, false}, {r.high, r.high, -s, s, false}}}, {0, 1}, 2};
    }
    const auto rounded = [&](index_t i) { return d == 2 ? i / s * s : i; };
    if (bottom >= top) {
      const index_t middle = rounded(r.low + r.d_low * height + top / 2);
      return {{{{r.low, middle, r.d_low, -s, false},
                {middle, r.high, s, r.d_high, false},
                {middle, middle, -s, s, false}}},
              {0, 0, 1},
              3};
    }
    const index_t middle = rounded(r.low + bottom / 2);
    return {{{{middle - reach, middle + reach, s, -s, false},
              {r.low, middle - reach, r.d_low, s, false},
              {middle + reach, r.high, -s, r.d_high, false}}},
            {0, 1, 1},
            3};
  }

  void walk(const Zoid& zoid) const {
    [[maybe_unused]] const Subproblem<T> here;
    const std::array<Pieces, 3> pieces{cut(0, zoid.d[0], zoid.height()),
                                       cut(1, zoid.d[1], zoid.height()),
                                       cut(2, zoid.d[2], zoid.height())};
    if (pieces[0].count * pieces[1].count * pieces[2].count > 1) {
      for (int stage = 0; stage <= 3; ++stage) walk_stage(zoid, pieces, stage);
    } else if (zoid.height() > base_steps_ || (wraps(zoid) && zoid.height() > 1)) {
      halve_time(zoid);
    } else {
      leaf(zoid);
    }
  }

  void walk_stage(const Zoid& zoid, const std::array<Pieces, 3>& pieces, int stage) const {
    std::array<Zoid, 27> subs;
    index_t count = 0;
    for (int i = 0; i < pieces[0].count; ++i) {
      for (int j = 0; j < pieces[1].count; ++j) {
        for (int k = 0; k < pieces[2].count; ++k) {
          const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j),
                     c = static_cast<std::size_t>(k);
          if (pieces[0].stage[a] + pieces[1].stage[b] + pieces[2].stage[c] != stage) continue;
          subs[static_cast<std::size_t>(count++)] = {
              zoid.t0, zoid.t1, {{pieces[0].range[a], pieces[1].range[b], pieces[2].range[c]}}};
        }
      }
    }
    const index_t grain = zoid.volume() >= task_volume ? 1 : 27;
    machine::fork_for(0, count, grain, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) walk(subs[static_cast<std::size_t>(i)]);
    });
  }

  void halve_time(const Zoid& zoid) const {
    const index_t half = zoid.height() / 2;
    Zoid early = zoid, late = zoid;
    early.t1 = late.t0 = zoid.t0 + half;
    for (auto& r : late.d) {
      r.low += half * r.d_low;
      r.high += half * r.d_high;
    }
    walk(early);
    walk(late);
  }

  /// Returns whether a dimension with more points than a leaf still spans the seam: then a cut in
  /// time is better.
  [[nodiscard]] bool wraps(const Zoid& zoid) const {
    for (int d = 0; d < 3; ++d) {
      const auto& r = zoid.d[static_cast<std::size_t>(d)];
      if (r.wrapped && r.high - r.low > base_[d]) return true;
    }
    return false;
  }

  /// Computes all steps of the zoid as a wavefront along its slowest dimension: some planes of
  /// every step at a time, each step one slope behind the previous one. A plane enters the cache
  /// once for all the steps.
  void leaf(const Zoid& zoid) const {
    const bool edge = touches_edge(zoid);
    const int d = slowest_;
    const Zoid::Range& r = zoid.d[static_cast<std::size_t>(d)];
    const index_t last = zoid.height() - 1;
    const index_t end = r.high + std::max<index_t>(0, (r.d_high + slope_[d]) * last);
    // A periodic dimension has no first plane: one wavefront takes all of them.
    const index_t planes = r.wrapped ? end - r.low + slope_[d] * last
                           : d == 2  ? points_at_once
                                     : planes_at_once;
    for (index_t front = r.low; front < end; front += planes) {
      for (index_t s = 0; s <= last; ++s) {
        Box3 box = box_at(zoid, s);
        box.low[d] = std::max(box.low[d], front - s * slope_[d]);
        box.high[d] = std::min(box.high[d], front - s * slope_[d] + planes);
        if (box.high[d] <= box.low[d]) continue;
        if (edge) {
          edge_box(zoid.t0 + s, box, 0);
        } else {
          engine_.interior(zoid.t0 + s, box);
        }
      }
    }
  }

  [[nodiscard]] static Box3 box_at(const Zoid& zoid, index_t s) {
    Box3 box;
    for (int d = 0; d < 3; ++d) {
      const auto& r = zoid.d[static_cast<std::size_t>(d)];
      box.low[d] = r.low + s * r.d_low;
      box.high[d] = r.high + s * r.d_high;
    }
    return box;
  }

  [[nodiscard]] bool touches_edge(const Zoid& zoid) const {
    Box3 hull;
    for (int d = 0; d < 3; ++d) {
      const auto& r = zoid.d[static_cast<std::size_t>(d)];
      hull.low[d] = std::min(r.low, r.low + r.d_low * (zoid.height() - 1));
      hull.high[d] = std::max(r.high, r.high + r.d_high * (zoid.height() - 1));
    }
    return engine_.touches_boundary(hull);
  }

  /// Splits the box where it crosses the seam of a periodic dimension, then computes and updates
  /// the boundary.
  void edge_box(index_t step, const Box3& box, int d) const {
    if (d == 3) {
      engine_.compute(step, box);
      return;
    }
    if (engine_.sweep().edge(d, 0) != Edge::wrapped || box.high[d] <= extent_[d]) {
      edge_box(step, box, d + 1);
      return;
    }
    Box3 before = box, after = box;
    before.high[d] = extent_[d];
    after.low[d] = std::max(box.low[d], extent_[d]) - extent_[d];
    after.high[d] = box.high[d] - extent_[d];
    if (before.high[d] > before.low[d]) edge_box(step, before, d + 1);
    if (after.high[d] > after.low[d]) edge_box(step, after, d + 1);
  }

  Engine<T> engine_;
  Index3 extent_;
  Index3 slope_;
  Index3 base_;
  index_t base_steps_;
  int slowest_;
};

template <class T>
void cache_oblivious(const Sweep<T>& sweep, const Tuning& tuning) {
  Walk<T>(sweep, tuning).run();
}

}  // namespace tessera::inline v1::stencil
