#pragma once
// The textbook sweep: every step over the whole field, row by row, with threads over rows. Each
// step streams the field through the cache once.

#include "kernels/stencil/engine.hpp"
#include "kernels/stencil/variants.hpp"

namespace tessera::inline v1::stencil {

template <class T>
void naive(const Sweep<T>& sweep, const Tuning& tuning) {
  const Engine<T> engine(sweep, Loops::reference, Stores::cached, tuning.isa);
  machine::parallel(sweep.threads, [&] {
    for (index_t step = 0; step < sweep.steps; ++step) {
      for_pieces(engine.region(step), sweep.threads,
                 [&](const Box3& piece) { engine.compute(step, piece); });
    }
  });
}

}  // namespace tessera::inline v1::stencil
