// A GPU: pointer chases through its memories and pages, barriers and launches, and transfers.

#include <algorithm>
#include <array>

#include "kernels/memory/device_probes.hpp"
#include "lab/atlas/atlas.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::atlas {
namespace {

/// Returns the best of a few runs of a probe, work per second; nullopt if it cannot run here.
std::optional<double> best_rate(const char* kernel, const memory::DeviceWalk& walk) {
  constexpr int runs = 3;
  const memory::DeviceProbeVariant& row = *find_variant(memory::device_probes(), kernel);
  const auto probe = memory::make_probe(row, completed(row, walk));
  if (!probe) return {};
  double best = 0;
  for (int run = 0; run < runs; ++run) best = std::max(best, probe->work() / probe->run());
  const memory::DeviceCheck check = probe->check();
  require(check.ratio <= check.tolerance, ExitCode::verification,
          std::string("the probe ") + kernel + " computed a wrong result on the GPU");
  return best;
}

void chase(Atlas& atlas, const char* kernel, index_t bytes) {
  if (const auto rate = best_rate(kernel, {.bytes = bytes}))
    atlas.on_device.push_back({kernel, bytes, 1e9 / *rate, "ns"});
}

/// Chases pages of 2 MiB, those of the page table, up to an eighth of the free memory.
void chase_pages(Atlas& atlas) {
  constexpr const char* kernel = "cuda_chase_pages";
  constexpr index_t page = index_t{2} << 20, line = 128, most = index_t{64} << 30;
  constexpr index_t steps = 1 << 16;
  const index_t largest = std::min(most, machine::free_gpu_memory() / 8);
  for (index_t pages = 2; pages * page <= largest; pages *= 2) {
    const auto far = best_rate(kernel, {.bytes = pages * page, .rounds = steps, .page = page}),
               near = best_rate(kernel, {.bytes = pages * line, .rounds = steps, .page = line});
    if (far && near) atlas.gpu_pages.push_back({page, pages, 1 / *far, 1 / *near});
  }
}

void measure_waits(Atlas& atlas) {
  constexpr index_t a_thread = 4;  // bytes of a probe of registers
  const auto add = [&](const char* what, const char* kernel, index_t threads, index_t bytes) {
    if (const auto rate = best_rate(kernel, {.bytes = bytes}))
      atlas.gpu_waits.push_back({what, threads, 1 / *rate});
  };
  for (const index_t threads : {32, 128, 256, 512, 1024})
    add("barrier of a block", "cuda_barrier_block", threads, a_thread * threads);
  const index_t all = index_t{256} * machine::gpus().devices.front().multiprocessors;
  add("barrier of a grid", "cuda_barrier_grid", all, 0);
  add("launch of an empty kernel", "cuda_empty", 32, 0);
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
  chase_pages(atlas);
  measure_waits(atlas);
  constexpr std::array transfers{"cuda_pinned_to_device", "cuda_pinned_from_device",
                                 "cuda_pageable_to_device", "cuda_pageable_from_device",
                                 "cuda_peer_to_peer"};
  for (const char* kernel : transfers) {
    constexpr index_t bytes = index_t{256} << 20;
    if (const auto rate = best_rate(kernel, {.bytes = bytes}))
      atlas.on_device.push_back({kernel, bytes, *rate / 1e9, "GB/s"});
  }
  if (gpus.devices.size() < 2) atlas.absent.emplace_back("GPU to GPU: this node shows one GPU");
}

}  // namespace tessera::inline v1::atlas
