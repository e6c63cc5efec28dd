#pragma once
// Host substitutes for the device kernels: point by point, in the order of the stencil.

#include <cmath>
#include <vector>

#include "kernels/stencil/cuda_passes.hpp"
#include "kernels/stencil/expression.hpp"
#include "kernels/stencil/resident.hpp"

namespace tessera::stencil::standing_in {

template <class F>
void each_point(const Index3& low, const Index3& high, const F& f) {
  for (index_t z = low[0]; z < high[0]; ++z) {
    for (index_t y = low[1]; y < high[1]; ++y) {
      for (index_t x = low[2]; x < high[2]; ++x) f(Index3{{z, y, x}});
    }
  }
}

/// Returns the new value at p; at(point) is the value of the previous level.
template <class T, class At>
T value(const DeviceSweep<T>& s, Index3 p, const At& at, T past) {
  using A = Arithmetic<T>;
  const auto near = [&](Index3 o) {
    return static_cast<A>(at(Index3{{p[0] + o[0], p[1] + o[1], p[2] + o[2]}}));
  };
  A sum = 0;
  if (s.form == Form::box) {
    const int r = static_cast<int>(s.radius[2]);
    const auto column = [&](int x) {
      return doubled_sum<A>(r, [&](int y) { return near({{0, y, x}}); });
    };
    sum = doubled_sum<A>(r, column) * s.weight[0];
  } else {
    sum = s.tap_weight[0] * near(s.tap_place[0]);
    for (index_t k = 1; k < s.taps; ++k) sum = std::fma(s.tap_weight[k], near(s.tap_place[k]), sum);
  }
  return static_cast<T>(
      apply_rule(s.rule, s.two_levels ? std::fma(s.previous, static_cast<A>(past), sum) : sum));
}

template <class T>
void fill_ghosts(const DeviceSweep<T>& s, int level, DeviceStream) {
  const Box3 all = s.all();
  each_point(all.low, all.high, [&](Index3 p) {
    if (s.line[0].inside(p[0]) && s.line[1].inside(p[1]) && s.line[2].inside(p[2])) return;
    const Ghost<T> ghost = ghost_of<T>(s.line, p);
    T& to = s.level[level][s.place(p)];
    if (ghost.from == From::point) to = s.level[level][s.place(ghost.at)];
    if (ghost.from == From::constant) to = ghost.value;
    if (ghost.from == From::given) to = s.level[0][s.place(ghost.at)];
  });
}

/// Writes the ghosts that repeat points of the region.
template <class T>
void publish(const DeviceSweep<T>& s, const Region& region, T* level) {
  const Box3 all = s.all();
  each_point(all.low, all.high, [&](Index3 p) {
    if (s.line[0].inside(p[0]) && s.line[1].inside(p[1]) && s.line[2].inside(p[2])) return;
    const Ghost<T> ghost = ghost_of<T>(s.line, p);
    bool own = ghost.from == From::point;
    for (int d = 0; d < 3; ++d)
      own = own && ghost.at[d] >= region.low[d] && ghost.at[d] < region.high[d];
    if (own) level[s.place(p)] = level[s.place(ghost.at)];
  });
}

/// Sweeps step by step with ghosts in memory, which it updates, as cuda_naive does.
template <class T>
int by_steps(const DeviceSweep<T>& s, const Tuning&, DeviceStream) {
  for (index_t done = 0; done < s.steps; ++done) {
    const T* in = s.level[done % 2];
    T* out = s.level[(done + 1) % 2];
    const Region region = s.valid(done + 1);
    each_point(region.low, region.high, [&](Index3 p) {
      T& to = out[s.place(p)];
      to = value(
          s, p, [&](Index3 q) { return in[s.place(q)]; }, to);
    });
    if (!region.empty()) publish(s, region, out);
  }
  return static_cast<int>(s.steps % 2);
}
template <class T>
Passes single_steps(const DeviceSweep<T>& s, const Tuning&) {
  return {s.steps, true};
}

constexpr int lengths[] = {2, 3, 4};
template <class T>
std::vector<index_t> passes_of(const DeviceSweep<T>& s, const Tuning& tuning) {
  const index_t most = s.two_levels ? 1 : tuning.base_steps > 0 ? tuning.base_steps : 3;
  return pass_lengths(s.steps, most, lengths);
}

/// Sweeps several steps per pass between the levels, with constant and given ghosts only, as
/// cuda_temporal does.
template <class T>
int by_passes(const DeviceSweep<T>& s, const Tuning& tuning, DeviceStream) {
  const Box3 all = s.all();
  const Index3 size = all.size();
  const auto cell = [&](Index3 p) {
    return static_cast<std::size_t>(((p[0] - all.low[0]) * size[1] + p[1] - all.low[1]) * size[2] +
                                    p[2] - all.low[2]);
  };
  index_t done = 0;
  int from = 0;
  for (const index_t steps : passes_of(s, tuning)) {
    const T* in = s.level[from];
    T* out = s.level[1 - from];
    std::vector<T> now(static_cast<std::size_t>(all.volume())), next;
    each_point(all.low, all.high, [&](Index3 p) { now[cell(p)] = in[s.place(p)]; });
    const auto at = [&](Index3 p) {
      if (s.line[0].inside(p[0]) && s.line[1].inside(p[1]) && s.line[2].inside(p[2]))
        return now[cell(p)];
      const Ghost<T> ghost = ghost_of<T>(s.line, p);
      return ghost.from == From::constant ? ghost.value : now[cell(ghost.at)];
    };
    for (index_t step = 1; step <= steps; ++step) {
      next = now;
      // Within a pass a part computes the inputs of its own last step.
      Region region = s.valid(done + steps);
      for (int d = 0; d < 3; ++d) {
        const index_t reach = s.radius[d] * (steps - step);
        region.low[d] -= s.part.front[d][0] == Front::stays ? 0 : reach;
        region.high[d] += s.part.front[d][1] == Front::stays ? 0 : reach;
      }
      each_point(region.low, region.high, [&](Index3 p) {
        next[cell(p)] = value(s, p, at, s.two_levels ? out[s.place(p)] : T{});
      });
      now = next;
    }
    const Region region = s.valid(done + steps);
    each_point(region.low, region.high, [&](Index3 p) { out[s.place(p)] = now[cell(p)]; });
    done += steps;
    from = 1 - from;
  }
  return from;
}
template <class T>
Passes some_passes(const DeviceSweep<T>& s, const Tuning& tuning) {
  return {static_cast<index_t>(passes_of(s, tuning).size()), false};
}

template <class T>
void pack(const HaloPieces<T>& pieces, const T* level, DeviceStream) {
  for (int i = 0; i < pieces.pieces; ++i) {
    const auto& piece = pieces.piece[i];
    for (unsigned k = 0; k < piece.count; ++k)
      piece.packed[k] = level[place_in_level<T>(piece, pieces.stride, k)];
  }
}
template <class T>
void unpack(const HaloPieces<T>& pieces, T* level, DeviceStream) {
  for (int i = 0; i < pieces.pieces; ++i) {
    const auto& piece = pieces.piece[i];
    for (unsigned k = 0; k < piece.count; ++k)
      level[place_in_level<T>(piece, pieces.stride, k)] = piece.packed[k];
  }
}

template <class T>
const ResidentKernels<T>* kernels() {
  static constexpr ResidentKernels<T> here{fill_ghosts<T>, pack<T>, unpack<T>};
  return &here;
}

inline std::vector<Variant> variants() {
  Variant steps{{"by_steps", Space::device, "in the place of a device's"}, nullptr, nullptr};
  steps.on_device = {{by_steps<float>, single_steps<float>},
                     {by_steps<double>, single_steps<double>},
                     {by_steps<Half>, single_steps<Half>}};
  Variant passes{{"by_passes", Space::device, "in the place of a device's"}, nullptr, nullptr};
  passes.on_device = {{by_passes<float>, some_passes<float>},
                      {by_passes<double>, some_passes<double>},
                      {by_passes<Half>, some_passes<Half>}};
  return {steps, passes};
}

}  // namespace tessera::stencil::standing_in
