// The memories of a GPU: pointer chases, and transfers to and from it.

#include <algorithm>
#include <array>

#include "kernels/memory/device_probes.hpp"
#include "lab/atlas/atlas.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::atlas {
namespace {

/// Returns the best of a few runs of a probe, work per second; nullopt if it cannot run here.
std::optional<double> best_rate(const char* kernel, index_t bytes) {
  constexpr int runs = 3;
  const memory::DeviceProbeVariant& row = *find_variant(memory::device_probes(), kernel);
  const auto probe = memory::make_probe(row, completed(row, {.bytes = bytes}));
  if (!probe) return {};
  double best = 0;
  for (int run = 0; run < runs; ++run) best = std::max(best, probe->work() / probe->run());
  const memory::DeviceCheck check = probe->check();
  require(check.ratio <= check.tolerance, ExitCode::verification,
          std::string("the probe ") + kernel + " computed a wrong result on the GPU");
  return best;
}

void chase(Atlas& atlas, const char* kernel, index_t bytes) {
  if (const auto rate = best_rate(kernel, bytes))
    atlas.on_device.push_back({kernel, bytes, 1e9 / *rate, "ns"});
}

}  // namespace

void measure_device(Atlas& atlas) {
  const machine::Gpus& gpus = machine::gpus();
  if (gpus.devices.empty()) {
    atlas.absent.emplace_back("GPU: none (" + gpus.reason + ")");
    return;
  }
  machine::use_gpu(0);
  const index_t l2 = std::max(gpus.devices.front().l2_bytes, index_t{4} << 20);
  for (index_t bytes = index_t{4} << 10; bytes <= 4 * l2; bytes *= 2) {
    chase(atlas, "cuda_chase", bytes);
    if (bytes < 4 * l2) chase(atlas, "cuda_chase", bytes + bytes / 2);
  }
  for (index_t bytes = index_t{4} << 10; bytes <= index_t{512} << 10; bytes *= 2)
    chase(atlas, "cuda_chase_texture", bytes);
  for (index_t bytes = index_t{1} << 10; bytes <= index_t{64} << 10; bytes *= 2)
    chase(atlas, "cuda_chase_constant", bytes);
  chase(atlas, "cuda_chase_shared", index_t{16} << 10);
  constexpr std::array transfers{"cuda_pinned_to_device", "cuda_pinned_from_device",
                                 "cuda_pageable_to_device", "cuda_pageable_from_device",
                                 "cuda_peer_to_peer"};
  for (const char* kernel : transfers) {
    constexpr index_t bytes = index_t{256} << 20;
    if (const auto rate = best_rate(kernel, bytes))
      atlas.on_device.push_back({kernel, bytes, *rate / 1e9, "GB/s"});
  }
  if (gpus.devices.size() < 2) atlas.absent.emplace_back("GPU to GPU: this node shows one GPU");
}

}  // namespace tessera::inline v1::atlas
