#include <cuda_runtime_api.h>

#include "machine/gpu.hpp"

namespace tessera::machine {

Gpus gpus() {
  Gpus result;
  int count = 0;
  if (const cudaError_t rc = cudaGetDeviceCount(&count); rc != cudaSuccess) {
    result.reason = cudaGetErrorString(rc);
    (void)cudaGetLastError();  // a missing driver is an answer, not an error to find later
    return result;
  }
  if (count == 0) result.reason = "the CUDA driver shows no device";
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) continue;
    result.devices.push_back({properties.name, static_cast<index_t>(properties.totalGlobalMem),
                              properties.multiProcessorCount, properties.major, properties.minor});
  }
  return result;
}

}  // namespace tessera::machine
