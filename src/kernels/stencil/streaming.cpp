// Plain sweeps at the speed of memory: vector kernels, every point read once and written once a
// step, past the caches when the field is larger than they are. Nothing is better for a single
// step, or for a field that fits the second levels.

#include <algorithm>

#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/tuning.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::stencil {
namespace {

/// Of a step on one thread: what fewer take is less than what two threads wait for each other.
constexpr index_t least_points = 16384;

}  // namespace

template <class T>
void streaming(const Sweep<T>& sweep, const Tuning& tuning) {
  const Stores stores = fits_in_cache(sweep) ? Stores::cached : Stores::through;
  const int threads = static_cast<int>(
      std::clamp<index_t>(sweep.extent().volume() / least_points, 1, std::max(sweep.threads, 1)));
  machine::parallel(threads,
                    [&] {  // the boundary too: a single step is too short to wake a team twice
                      const Engine<T> engine(sweep, Loops::vector, stores, tuning.isa);
                      for (index_t step = 0; step < sweep.steps; ++step) {
                        for_pieces(engine.region(step), threads,
                                   [&](const Box3& piece) { engine.compute(step, piece); });
                      }
                    });
}

template void streaming(const Sweep<Half>&, const Tuning&);
template void streaming(const Sweep<float>&, const Tuning&);
template void streaming(const Sweep<double>&, const Tuning&);

}  // namespace tessera::stencil
