#pragma once
// Column-based iteration in boustrophedon order: every other row runs from right to left, so the
// walk turns on lines that it has just accessed.

#include "base/instrument.hpp"
#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::stencil {
/// Sweeps columns in boustrophedon order. Plain numbers are taken in groups of up to 64, so that
/// the compiler can vectorise the loop over a group: the order of eight adjacent lines makes no
/// difference to a cache. A trace takes every point separately.
template <class T>
void zigzag(const Sweep<T>& sweep, const Tuning& tuning) {
  constexpr index_t default_width = 512;  // points
  constexpr index_t group = is_traced<T> ? 1 : 64;
  const index_t width = tuning.column > 0 ? tuning.column : default_width;
  const Engine<T> engine(sweep, Loops::reference, Stores::cached, tuning.isa);
  machine::parallel(sweep.threads, [&] {
    for (index_t step = 0; step < sweep.steps; ++step) {
      const Box3 region = engine.region(step);
      const Index3 size = region.size();
      if (size.volume() <= 0) continue;
      const index_t wide = std::min(width, size[2]), columns = ceil_div(size[2], wide);
      machine::parallel_for(0, size[0] * columns, 1, [&](index_t piece, index_t) {
        const index_t z = region.low[0] + piece / columns;
        const index_t left = region.low[2] + piece % columns * wide;
        const index_t right = std::min(left + wide, region.high[2]);
        const index_t groups = ceil_div(right - left, group);
        for (index_t y = region.low[1]; y < region.high[1]; ++y) {
          const bool turned = (y - region.low[1]) % 2 == 1;
          for (index_t i = 0; i < groups; ++i) {
            const index_t x = left + (turned ? groups - 1 - i : i) * group;
            engine.compute(step, {{{z, y, x}}, {{z + 1, y + 1, std::min(x + group, right)}}});
          }
        }
      });
    }
  });
}

}  // namespace tessera::stencil
