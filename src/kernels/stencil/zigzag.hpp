#pragma once
// Column-based iteration with every other row walked from right to left: the walk turns where it ends, on
// lines that it has just touched. Points are taken in groups of `group`, so that the loop over them can be a
// vector's.

#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/remap.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::stencil {
template <class T>
void zigzag(const Sweep<T>& sweep, const Tuning& tuning) {
  constexpr index_t default_width = 512;  // points
  constexpr index_t group = 64;           // points
  const index_t groups_wide = ceil_div(tuning.column > 0 ? tuning.column : default_width, group);
  const Engine<T> engine(sweep, Loops::reference, Stores::cached, tuning.isa);
  machine::parallel(sweep.threads, [&] {
    for (index_t step = 0; step < sweep.steps; ++step) {
      const Box3 region = engine.region(step);
      const Index3 size = region.size();
      if (size.volume() <= 0) continue;
      const index_t across = ceil_div(size[2], group), plane = across * size[1];
      const index_t grain = groups_wide * size[1];  // one column
      machine::parallel_for(0, size[0] * plane, grain, [&](index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
          const Place place = zigzag_place(i % plane, groups_wide, across, size[1]);
          const index_t y = region.low[1] + place.y, x = region.low[2] + place.x * group;
          const index_t z = region.low[0] + i / plane, x_end = std::min(x + group, region.high[2]);
          engine.compute(step, {{{z, y, x}}, {{z + 1, y + 1, x_end}}});
        }
      });
    }
  });
}

}  // namespace tessera::stencil
