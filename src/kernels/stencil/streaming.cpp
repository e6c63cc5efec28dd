// Plain sweeps at the speed of memory: vector kernels, every point read once and written once a step, past
// the caches when the field is larger than they are. Nothing is better for a single step, or for a field that
// fits the second levels.

#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/tuning.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::stencil {

template <class T>
void streaming(const Sweep<T>& sweep, const Tuning& tuning) {
  const Stores stores = fits_in_cache(sweep) ? Stores::cached : Stores::through;
  machine::parallel(sweep.threads, [&] {  // the boundary too: a single step is too short to wake a team twice
    const Engine<T> engine(sweep, Loops::vector, stores, tuning.isa);
    for (index_t step = 0; step < sweep.steps; ++step) {
      for_pieces(engine.region(step), sweep.threads, [&](const Box3& piece) { engine.compute(step, piece); });
    }
  });
}

template void streaming(const Sweep<Half>&, const Tuning&);
template void streaming(const Sweep<float>&, const Tuning&);
template void streaming(const Sweep<double>&, const Tuning&);

}  // namespace tessera::stencil
