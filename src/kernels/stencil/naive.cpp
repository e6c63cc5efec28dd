// The textbook sweep: every step over the whole field, row by row, threads over rows.

#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::stencil {

template <class T>
void naive(const Sweep<T>& sweep, const Tuning& tuning) {
  const Engine<T> engine(sweep, Loops::reference, Stores::cached, tuning.isa);
  machine::parallel(sweep.threads, [&] {
    for (index_t step = 0; step < sweep.steps; ++step) {
      const Box3 region = engine.region(step);
      for_rows(region, sweep.threads, [&](index_t z, index_t y0, index_t y1) {
        engine.rows(step, z, y0, y1, region.low[2], region.high[2]);
      });
    }
  });
}

template void naive(const Sweep<float>&, const Tuning&);
template void naive(const Sweep<double>&, const Tuning&);

}  // namespace tessera::stencil
