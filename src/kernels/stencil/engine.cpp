// Instantiations of the engine for plain elements and halves.

#include "kernels/stencil/engine.hpp"

#include "kernels/stencil/engine_bodies.hpp"

namespace tessera::inline v1::stencil {

template class Engine<Half>;
template class Engine<BFloat16>;
template class Engine<float>;
template class Engine<double>;

}  // namespace tessera::inline v1::stencil
