#include "machine/gpu.hpp"

namespace tessera::machine {

Gpus gpus() { return {{}, "this build has no CUDA (nvcc was not found, or -DTESSERA_CUDA=OFF)"}; }

void choose_gpu(int) { throw Error(ExitCode::usage, "there is no GPU: " + gpus().reason); }

}  // namespace tessera::machine
