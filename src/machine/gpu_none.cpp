#include "machine/gpu.hpp"

namespace tessera::machine {

bool built_with_cuda() { return false; }

const Gpus& gpus() {
  static const Gpus none{
      .devices = {},
      .reason = "this build has no CUDA (nvcc was not found, or -DTESSERA_CUDA=OFF)",
      .built = false,
      .driver = {},
      .runtime = {}};
  return none;
}

void use_gpu(int) {}

index_t free_gpu_memory() { return 0; }

}  // namespace tessera::machine
