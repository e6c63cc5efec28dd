#include "machine/gpu.hpp"

namespace tessera::machine {

Gpus gpus() { return {{}, "this build has no CUDA (nvcc was not found, or -DTESSERA_CUDA=OFF)"}; }

}  // namespace tessera::machine
