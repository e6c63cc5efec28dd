#pragma once
// Tiles in x and y: the rows shared by adjacent output rows are still in cache when they are read
// again.

#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::inline v1::stencil {
template <class T>
void tiled(const Sweep<T>& sweep, const Tuning& tuning) {
  constexpr index_t default_tile_y = 32;    // rows
  constexpr index_t default_tile_x = 1024;  // points: 34 rows of f64 are 272 KiB, inside any L2
  const index_t tile_y = tuning.tile_y > 0 ? tuning.tile_y : default_tile_y;
  const index_t tile_x = tuning.tile_x > 0 ? tuning.tile_x : default_tile_x;
  const Engine<T> engine(sweep, Loops::reference, Stores::cached, tuning.isa);
  machine::parallel(sweep.threads, [&] {
    for (index_t step = 0; step < sweep.steps; ++step) {
      const Box3 region = engine.region(step);
      const Index3 size = region.size();
      const index_t down = ceil_div(size[1], tile_y), across = ceil_div(size[2], tile_x);
      machine::parallel_for(0, size[0] * down * across, 1, [&](index_t tile, index_t) {
        const index_t z = region.low[0] + tile / (down * across);
        const index_t y = region.low[1] + tile / across % down * tile_y;
        const index_t x = region.low[2] + tile % across * tile_x;
        const index_t y_end = std::min(y + tile_y, region.high[1]),
                      x_end = std::min(x + tile_x, region.high[2]);
        engine.compute(step, {{{z, y, x}}, {{z + 1, y_end, x_end}}});
      });
    }
  });
}

}  // namespace tessera::inline v1::stencil
