// Plain sweeps at memory bandwidth: vector kernels, with every point read once and written once per
// step, by streaming stores when the field exceeds the caches. Optimal for a single step, or for a
// field that fits the second-level caches.

#include <algorithm>

#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/tuning.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::inline v1::stencil {
namespace {

/// Points of a step below which one thread suffices: they take less time than the synchronisation
/// of two threads.
constexpr index_t least_points = 16384;

}  // namespace

template <class T>
void streaming(const Sweep<T>& sweep, const Tuning& tuning) {
  const Stores stores = fits_in_cache(sweep) ? Stores::cached : Stores::through;
  const int threads = static_cast<int>(
      std::clamp<index_t>(sweep.extent().volume() / least_points, 1, std::max(sweep.threads, 1)));
  machine::parallel(threads,
                    [&] {  // includes the boundary: a single step is too short to wake a team twice
                      const Engine<T> engine(sweep, Loops::vector, stores, tuning.isa);
                      for (index_t step = 0; step < sweep.steps; ++step) {
                        for_pieces(engine.region(step), threads,
                                   [&](const Box3& piece) { engine.compute(step, piece); });
                      }
                    });
}

template void streaming(const Sweep<Half>&, const Tuning&);
template void streaming(const Sweep<BFloat16>&, const Tuning&);
template void streaming(const Sweep<float>&, const Tuning&);
template void streaming(const Sweep<double>&, const Tuning&);

}  // namespace tessera::inline v1::stencil
