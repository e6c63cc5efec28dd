#include "machine/cuda.hpp"

namespace tessera::machine::cuda {

void check(cudaError_t rc, const char* call) {
  if (rc == cudaSuccess) return;
  throw Error(rc == cudaErrorMemoryAllocation ? ExitCode::memory : ExitCode::internal,
              std::string(call) + " failed: " + cudaGetErrorString(rc));
}

void choose_device(int local_rank) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  require(count > 0, ExitCode::usage, "the CUDA driver shows no device; use a host kernel");
  check(cudaSetDevice(local_rank % count), "cudaSetDevice");
}

}  // namespace tessera::machine::cuda
