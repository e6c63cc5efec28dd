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

const Gpu* in_use = nullptr;

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
  const std::vector<Gpu>& devices = gpus().devices;
  if (devices.empty()) return;
  find_cuda_library().library->use_gpu(local_rank);
  in_use = &devices[static_cast<std::size_t>(local_rank) % devices.size()];
}

const Gpu* gpu_in_use() { return in_use; }

index_t free_gpu_memory() {
  return gpus().devices.empty() ? 0 : find_cuda_library().library->free_memory();
}

}  // namespace tessera::inline v1::machine
