#include "machine/cuda.hpp"
#include "machine/cuda_entry.hpp"

namespace tessera::inline v1::machine::cuda {

Occupancy occupancy(const DeviceFunction& f) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, f.function), "cudaFuncGetAttributes");
  const auto dynamic = static_cast<std::size_t>(f.shared_bytes);
  Occupancy result;
  result.registers = attributes.numRegs;
  result.local_bytes = static_cast<index_t>(attributes.localSizeBytes);
  result.shared_bytes = static_cast<index_t>(attributes.sharedSizeBytes) + f.shared_bytes;
  if (result.shared_bytes > attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) {
    result.limit = "shared memory";  // launched on other devices only
    return result;
  }
  if (f.shared_bytes > attributes.maxDynamicSharedSizeBytes) {  // above 48 KB a kernel must opt in
    check(cudaFuncSetAttribute(f.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               narrow<int>(f.shared_bytes)),
          "cudaFuncSetAttribute");
  }
  check(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&result.blocks, f.function, f.threads, dynamic),
      "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  result.warps = result.blocks * static_cast<int>(ceil_div(f.threads, 32));
  result.limit = occupancy_limit(current_gpu(), f.threads, result.registers, result.shared_bytes);
  return result;
}

}  // namespace tessera::inline v1::machine::cuda
