#include <cuda_runtime_api.h>

#include "machine/cuda.hpp"
#include "machine/cuda_entry.hpp"
#include "machine/cuda_pool.hpp"
#include "machine/gpu_code.hpp"

namespace tessera::inline v1::machine::cuda {
namespace {

// cudaDevAttrMpsEnabled, for which older toolkits have no name.
constexpr auto mps_enabled = static_cast<cudaDeviceAttr>(133);

/// Formats a version: 13020 is "13.2".
std::string version_text(int version) {
  if (version == 0) return {};
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Gpu describe(int device, const cudaDeviceProp& properties) {
  // Newer runtimes report the clocks as attributes only.
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
  };
  char pci[32] = {};
  if (cudaDeviceGetPCIBusId(pci, sizeof pci, device) != cudaSuccess) pci[0] = '\0';
  Gpu gpu;
  gpu.number = device;
  gpu.name = properties.name;
  gpu.memory_bytes = static_cast<index_t>(properties.totalGlobalMem);
  gpu.multiprocessors = properties.multiProcessorCount;
  gpu.major = properties.major;
  gpu.minor = properties.minor;
  gpu.clock_hz = 1e3 * attribute(cudaDevAttrClockRate);
  gpu.memory_clock_hz = 1e3 * attribute(cudaDevAttrMemoryClockRate);
  gpu.bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth);
  gpu.l2_bytes = attribute(cudaDevAttrL2CacheSize);
  gpu.shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  gpu.registers = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
  gpu.threads = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  gpu.blocks = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  gpu.reserved_bytes = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  gpu.pci = pci;
  gpu.warp = attribute(cudaDevAttrWarpSize);
  gpu.block_threads = attribute(cudaDevAttrMaxThreadsPerBlock);
  gpu.block_registers = attribute(cudaDevAttrMaxRegistersPerBlock);
  gpu.block_shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlock);
  gpu.block_opt_in_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  gpu.constant_bytes = attribute(cudaDevAttrTotalConstantMemory);
  gpu.copy_engines = attribute(cudaDevAttrAsyncEngineCount);
  gpu.concurrent_kernels = attribute(cudaDevAttrConcurrentKernels) != 0;
  gpu.unified_addressing = attribute(cudaDevAttrUnifiedAddressing) != 0;
  gpu.ecc = attribute(cudaDevAttrEccEnabled) != 0;
  int serves = 0;  // unknown to older drivers, which may have the service all the same
  gpu.takes_turns =
      cudaDeviceGetAttribute(&serves, mps_enabled, device) == cudaSuccess && serves == 0;
  return gpu;
}

}  // namespace

std::string version() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? version_text(version) : "";
}

Gpus look() {
  Gpus result;
  result.built = true;
  int version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess) result.driver = version_text(version);
  int count = 0;
  if (const cudaError_t rc = cudaGetDeviceCount(&count); rc != cudaSuccess) {
    result.reason = result.driver.empty() ? "no CUDA driver is installed" : cudaGetErrorString(rc);
    (void)cudaGetLastError();  // a missing driver is not an error: clear it
    return result;
  }
  if (count == 0) result.reason = "the CUDA driver shows no device";
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) continue;
    const Gpu gpu = describe(device, properties);
    if (has_code(TESSERA_CUDA_ARCHITECTURES, gpu.major, gpu.minor))
      result.devices.push_back(gpu);
    else
      result.unusable = without_code(TESSERA_CUDA_ARCHITECTURES, gpu);
  }
  if (result.devices.empty() && !result.unusable.empty()) result.reason = result.unusable;
  (void)cudaGetLastError();  // clear errors of attributes unknown to the driver
  return result;
}

index_t free_memory() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<index_t>(free) + kept_device_bytes();
}

}  // namespace tessera::inline v1::machine::cuda
