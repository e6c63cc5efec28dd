#include <algorithm>

#include "kernels/cuda_code.cuh"
#include "kernels/cuda_code.hpp"
#include "machine/cuda.hpp"

namespace tessera::inline v1::kernels {
namespace {

constexpr int threads_of_90a = 64;

/// Never launched. Its maximal threads per block distinguish code for 9.0a from code for 9.0, whose
/// versions are equal.
__global__ void __launch_bounds__(compiled_for_90a ? threads_of_90a : 32) marker() {}

DeviceCode look() {
  cudaFuncAttributes attributes{};
  machine::cuda::check(cudaFuncGetAttributes(&attributes, marker), "cudaFuncGetAttributes");
  return {attributes.ptxVersion, attributes.maxThreadsPerBlock == threads_of_90a};
}

}  // namespace

const DeviceCode& device_code() {
  thread_local int device = -1;
  thread_local DeviceCode code;
  int current = 0;
  machine::cuda::check(cudaGetDevice(&current), "cudaGetDevice");
  if (current != device) {
    code = look();
    device = current;
  }
  return code;
}

index_t shared_bytes_per_block() {
  if (machine::gpus().devices.empty()) return index_t{227} << 10;
  const int code = device_code().architecture;
  const index_t there = machine::cuda::attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return code < 80   ? std::min(there, index_t{64} << 10)
         : code < 90 ? std::min(there, index_t{163} << 10)
                     : there;
}

}  // namespace tessera::inline v1::kernels
