#include "machine/occupancy.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "machine/cuda_library.hpp"

namespace tessera::machine {

Occupancy occupancy(const DeviceFunction& function) {
  require(!gpus().devices.empty(), ExitCode::internal, gpus().reason);
  return find_cuda_library().library->occupancy(function);
}

std::string occupancy_limit(const Gpu& gpu, int threads, int registers, index_t shared_bytes) {
  constexpr index_t warp = 32, piece = 256;
  const index_t warps = std::max<index_t>(1, ceil_div(threads, warp));
  const index_t registers_warp = round_up(index_t{registers} * warp, piece);
  // A multiprocessor allocates registers in four partitions.
  const index_t warps_by_registers =
      registers_warp > 0 ? gpu.registers / 4 / registers_warp * 4 : index_t{gpu.threads} / warp;
  const index_t shared_block =
      shared_bytes > 0 ? round_up(shared_bytes + gpu.reserved_bytes, 128) : gpu.reserved_bytes;
  const std::array<std::pair<const char*, index_t>, 4> most{{
      {"warps", index_t{gpu.threads} / warp / warps},
      {"blocks", index_t{gpu.blocks}},
      {"registers", warps_by_registers / warps},
      {"shared memory",
       shared_block > 0 ? gpu.shared_bytes / shared_block : index_t{gpu.blocks} + 1},
  }};
  index_t least = most.front().second;
  for (const auto& [name, blocks] : most) least = std::min(least, blocks);
  std::string limit;
  for (const auto& [name, blocks] : most) {
    if (blocks == least) limit += (limit.empty() ? "" : ", ") + std::string(name);
  }
  return limit;
}

}  // namespace tessera::machine
