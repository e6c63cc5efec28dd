#include "machine/occupancy.hpp"

#include "machine/cuda_library.hpp"
#include "machine/residency.hpp"

namespace tessera::inline v1::machine {

Occupancy occupancy(const DeviceFunction& function) {
  require(!gpus().devices.empty(), ExitCode::internal, gpus().reason);
  return find_cuda_library().library->occupancy(function);
}

std::string occupancy_limit(const Gpu& gpu, int threads, int registers, index_t shared_bytes) {
  const Multiprocessor of{.threads = gpu.threads,
                          .blocks = gpu.blocks,
                          .registers = gpu.registers,
                          .block_registers = gpu.registers,
                          .thread_registers = 255,
                          .shared_bytes = gpu.shared_bytes,
                          .block_shared_bytes = gpu.shared_bytes,
                          .reserved_bytes = gpu.reserved_bytes};
  return residency(of, {threads, registers, shared_bytes}).limit;
}

}  // namespace tessera::inline v1::machine
