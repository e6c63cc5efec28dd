#include "machine/gpu.hpp"

#include "machine/cuda_library.hpp"

namespace tessera::inline v1::machine {
namespace {

Gpus look() {
  const FoundLibrary& found = find_cuda_library();
  if (found.library != nullptr) return found.library->look();
  Gpus none;
  none.reason = found.missing;
  none.built = built_with_cuda();
  return none;
}

}  // namespace

bool built_with_cuda() { return TESSERA_BUILT_WITH_CUDA; }

std::string cuda_version() {
  const FoundLibrary& found = find_cuda_library();
  return found.library != nullptr ? found.library->version() : "";
}

const Gpus& gpus() {
  static const Gpus found = look();
  return found;
}

void use_gpu(int local_rank) {
  if (!gpus().devices.empty()) find_cuda_library().library->use_gpu(local_rank);
}

index_t free_gpu_memory() {
  return gpus().devices.empty() ? 0 : find_cuda_library().library->free_memory();
}

}  // namespace tessera::inline v1::machine
