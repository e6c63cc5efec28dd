#include "machine/cuda.hpp"

#include <cstdint>

namespace tessera::inline v1::machine::cuda {

void check(cudaError_t rc, const char* call) {
  if (rc == cudaSuccess) return;
  throw Error(rc == cudaErrorMemoryAllocation ? ExitCode::memory : ExitCode::internal,
              std::string(call) + " failed: " + cudaGetErrorString(rc));
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

void choose_device(int local_rank) {
  const auto& devices = gpus().devices;
  require(!devices.empty(), ExitCode::usage, gpus().reason + "; use a host kernel");
  const auto mine = static_cast<std::size_t>(local_rank) % devices.size();
  check(cudaSetDevice(devices[mine].number), "cudaSetDevice");
}

const Gpu& current_gpu() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  for (const Gpu& gpu : gpus().devices)
    if (gpu.number == device) return gpu;
  throw Error(ExitCode::internal, "the current device is not among those of this process");
}

namespace {

/// Sets the release threshold of the device's default pool: by default every synchronisation
/// returns freed memory to the system.
void keep_scratch() {
  constexpr std::uint64_t kept = std::uint64_t{64} << 20;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  thread_local int done = -1;
  if (done == device) return;
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
  std::uint64_t bytes = kept;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes),
        "cudaMemPoolSetAttribute");
  done = device;
}

}  // namespace

Scratch::Scratch(std::size_t bytes, cudaStream_t stream) : stream_(stream) {
  keep_scratch();
  check(cudaMallocAsync(&data_, bytes, stream), "cudaMallocAsync");
}

}  // namespace tessera::inline v1::machine::cuda
