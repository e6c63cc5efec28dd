#pragma once
// Column-based iteration: columns a few cache lines wide, each walked from top to bottom, so that
// the working set, the rows that a stencil spans, fits in L1 for any width of the field.

#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::inline v1::stencil {

/// Calls body(engine, step, column) for the columns of every step, on the team.
template <class T, class Body>
void for_columns(const Sweep<T>& sweep, const Tuning& tuning, const Body& body) {
  constexpr index_t default_width = 512;  // points: 9 rows of f64 are 36 KiB
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
        const index_t x = region.low[2] + piece % columns * wide;
        const index_t end = std::min(x + wide, region.high[2]);
        body(engine, step, Box3{{{z, region.low[1], x}}, {{z + 1, region.high[1], end}}});
      });
    }
  });
}

template <class T>
void column(const Sweep<T>& sweep, const Tuning& tuning) {
  for_columns(sweep, tuning, [](const Engine<T>& engine, index_t step, const Box3& column) {
    engine.compute(step, column);
  });
}

}  // namespace tessera::inline v1::stencil
