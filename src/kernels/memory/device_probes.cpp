// The table of device probes with their parameters and defaults.

#include "kernels/memory/device_probes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace tessera::inline v1::memory {
namespace {

constexpr index_t mib = index_t{1} << 20, gib = mib << 10;
constexpr const char* bandwidth = "GB/s";

// Much more than the second-level caches (60 MB on the largest so far), for probes of memory.
constexpr DeviceWalk large{.bytes = 512 * mib, .rounds = 1};
constexpr DeviceWalk larger{.bytes = gib, .rounds = 1};
// As many threads as fit the device, and enough steps for a launch of about a millisecond.
constexpr DeviceWalk in_registers{.bytes = 0, .rounds = 4096};
constexpr DeviceWalk transfer{.bytes = 256 * mib, .rounds = 1};
constexpr DeviceWalk chased{.bytes = 16 << 10, .rounds = 1 << 18};  // dependent loads
constexpr DeviceWalk migration{.bytes = 64 * mib, .rounds = 1};

constexpr DeviceWalk with(DeviceWalk walk, DeviceMember member, index_t value) {
  walk.*member = value;
  return walk;
}

constexpr std::array<DeviceProbeVariant, 33> table{{
    {{"cuda_copy", Space::device, "copy by 16-byte loads, four in flight per thread"},
     bandwidth,
     "gpu_copy",
     2,
     1,
     large},
    {{"cuda_copy_engine", Space::device, "copy by cudaMemcpyAsync, for reference"},
     bandwidth,
     "gpu_copy",
     2,
     1,
     large},
    {{"cuda_copy_offset", Space::device, "misaligned copy, --offset words past an aligned address"},
     bandwidth,
     "gpu_copy",
     2,
     1,
     with(large, &DeviceWalk::offset, 0)},
    {{"cuda_copy_stride", Space::device,
      "strided copy of every --lane-stride-th word; counts these words"},
     bandwidth,
     "gpu_copy",
     2,
     1,
     with(large, &DeviceWalk::lane_stride, 1)},
    {{"cuda_shared_stride", Space::device,
      "bank conflicts: shared memory at stride --lane-stride (0: broadcast)"},
     bandwidth,
     "",
     1,
     1,
     with({.bytes = 0, .rounds = 1024}, &DeviceWalk::lane_stride, 1)},
    {{"cuda_read", Space::device, "streaming read, one sum per thread: upper bound of a reduction"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_reduce_interleaved", Space::device,
      "reduction, interleaved addressing (Harris 2007, step 1)"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_reduce_sequential", Space::device,
      "reduction, sequential addressing (Harris 2007, step 3)"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_reduce_first_add", Space::device,
      "reduction, first add during load (Harris 2007, step 4)"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_reduce_shuffle", Space::device, "reduction, first add during load, warp shuffles"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_reduce", Space::device,
      "reduction, many 16-byte loads per thread, shuffles (Harris 2007, step 7)"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_histogram_global", Space::device, "histogram of --bins bins, atomics in global memory"},
     bandwidth,
     "gpu_read",
     1,
     0,
     with(larger, &DeviceWalk::bins, 256)},
    {{"cuda_histogram_shared", Space::device,
      "histogram of --bins bins, atomics in shared memory of each block"},
     bandwidth,
     "gpu_read",
     1,
     0,
     with(larger, &DeviceWalk::bins, 256)},
    {{"cuda_pageable_to_device", Space::device,
      "transfer from pageable memory, staged by the driver"},
     bandwidth,
     "gpu_to_device",
     1,
     2,
     transfer},
    {{"cuda_pinned_to_device", Space::device, "transfer from pinned memory"},
     bandwidth,
     "gpu_to_device",
     1,
     2,
     transfer},
    {{"cuda_managed_to_device", Space::device,
      "managed memory, written by the host, read by a kernel"},
     bandwidth,
     "gpu_to_device",
     1,
     1,
     migration,
     256 * mib},
    {{"cuda_pageable_from_device", Space::device,
      "transfer to pageable memory, staged by the driver"},
     bandwidth,
     "gpu_from_device",
     1,
     1,
     transfer},
    {{"cuda_pinned_from_device", Space::device, "transfer to pinned memory"},
     bandwidth,
     "gpu_from_device",
     1,
     1,
     transfer},
    {{"cuda_managed_from_device", Space::device,
      "managed memory, written by a kernel, read by the host"},
     bandwidth,
     "gpu_from_device",
     1,
     1,
     migration,
     256 * mib},
    {{"cuda_streams", Space::device,
      "pipeline of 16 pieces (to device, kernel, back) on --streams streams"},
     bandwidth,
     "",
     2,
     2,
     with({.bytes = 256 * mib, .rounds = 1024}, &DeviceWalk::streams, 4)},
    {{"cuda_peer_to_peer", Space::device, "transfer to the next GPU of this node"},
     bandwidth,
     "",
     1,
     1,
     transfer},
    {{"cuda_chase", Space::device,
      "latency of global memory by size: L1, L2, device memory; a load per 128 bytes"},
     "Mloads/s",
     "",
     1,
     1,
     with(chased, &DeviceWalk::bytes, 512 * mib)},
    {{"cuda_chase_texture", Space::device, "latency of texture fetches; a load per 128 bytes"},
     "Mloads/s",
     "",
     1,
     1,
     chased,
     512 * mib},
    {{"cuda_chase_constant", Space::device, "latency of constant memory; a load per 64 bytes"},
     "Mloads/s",
     "",
     1,
     1,
     with(chased, &DeviceWalk::bytes, 1024),
     64 << 10},
    {{"cuda_chase_shared", Space::device, "latency of shared memory; a load per word"},
     "Mloads/s",
     "",
     1,
     1,
     chased,
     48 << 10},
    {{"cuda_divergence", Space::device,
      "warp divergence: the threads of a warp take --ways branches"},
     "Gsteps/s",
     "",
     1,
     1,
     with(in_registers, &DeviceWalk::ways, 1)},
    {{"cuda_fma_f32", Space::device,
      "fused multiply-adds in single precision, eight chains per thread"},
     "GFLOP/s",
     "gpu_fma_f32",
     1,
     1,
     in_registers},
    {{"cuda_fma_f64", Space::device,
      "fused multiply-adds in double precision, eight chains per thread"},
     "GFLOP/s",
     "gpu_fma_f64",
     1,
     1,
     in_registers},
    {{"cuda_mma_f64", Space::device, "tensor-core multiply-adds in double precision, in registers"},
     "GFLOP/s",
     "gpu_mma_f64",
     1,
     1,
     with(in_registers, &DeviceWalk::rounds, 1024)},
    {{"cuda_exp_f64", Space::device, "exponentials in double precision"},
     "Gexp/s",
     "",
     1,
     1,
     with(in_registers, &DeviceWalk::rounds, 256)},
    {{"cuda_exp_f32", Space::device, "exponentials in single precision"},
     "Gexp/s",
     "",
     1,
     1,
     with(in_registers, &DeviceWalk::rounds, 256)},
    {{"cuda_exp_fast", Space::device, "exponentials by the fast intrinsic __expf"},
     "Gexp/s",
     "",
     1,
     1,
     with(in_registers, &DeviceWalk::rounds, 256)},
    {{"cuda_empty", Space::device, "launch rate of an empty kernel"},
     "Mlaunches/s",
     "",
     0,
     0,
     {.bytes = 16, .rounds = 64}},
}};

constexpr std::array<DeviceParameter, 5> parameters{{
    {"offset", &DeviceWalk::offset, 0, 1 << 20,
     "words from an aligned address to the first copied word"},
    {"lane-stride", &DeviceWalk::lane_stride, 0, 1 << 20,
     "words of 4 bytes between the accesses of adjacent threads"},
    {"bins", &DeviceWalk::bins, 1, 12288, "number of bins of the histogram"},
    {"ways", &DeviceWalk::ways, 1, 32, "number of branches that the threads of a warp take"},
    {"streams", &DeviceWalk::streams, 1, 16,
     "number of CUDA streams that share the pieces of a transfer"},
}};

constexpr index_t most_shared_stride =
    64;  // in 8 KB of shared memory: enough for every conflict to occur twice

}  // namespace

std::span<const DeviceProbeVariant> device_probes() { return table; }
std::span<const DeviceParameter> device_parameters() { return parameters; }

bool takes(const DeviceProbeVariant& row, const DeviceParameter& parameter) {
  return row.usual.*parameter.member >= 0;
}

DeviceWalk completed(const DeviceProbeVariant& row, const DeviceWalk& walk) {
  DeviceWalk result = walk;
  if (walk.bytes == 0) result.bytes = row.usual.bytes;
  result.bytes = round_up(result.bytes, 16);
  if (walk.rounds == 0) result.rounds = row.usual.rounds;
  for (const DeviceParameter& p : parameters) {
    if (walk.*p.member < 0) result.*p.member = row.usual.*p.member;
    require(takes(row, p) || walk.*p.member < 0, ExitCode::usage,
            fmt::format("kernel {} does not support --{}; drop it, or run that kernel separately",
                        row.name, p.name));
  }
  const index_t stride = result.lane_stride;
  require(
      row.name != "cuda_shared_stride" || stride <= most_shared_stride, ExitCode::usage,
      fmt::format(
          "--lane-stride {} exceeds the shared memory of cuda_shared_stride: must be at most {}",
          stride, most_shared_stride));
  require(row.name != "cuda_copy_stride" || stride >= 1, ExitCode::usage,
          "--lane-stride 0 makes all threads write one word: cuda_copy_stride needs at least 1");
  require(row.most_bytes == 0 || result.bytes <= row.most_bytes, ExitCode::usage,
          fmt::format("--size exceeds the limit of kernel {}, {}; use a smaller --size", row.name,
                      human_bytes(row.most_bytes)));
  return result;
}

std::vector<DeviceCeiling> device_ceilings() {
  constexpr int runs = 6;
  constexpr std::array<std::string_view, 7> measured{
      "cuda_copy",    "cuda_read",    "cuda_pinned_to_device", "cuda_pinned_from_device",
      "cuda_fma_f32", "cuda_fma_f64", "cuda_mma_f64"};
  std::vector<DeviceCeiling> result;
  for (const std::string_view name : measured) {
    const DeviceProbeVariant& row = *find_variant(device_probes(), name);
    const auto probe = make_probe(row, completed(row, {}));
    if (!probe) continue;
    double best = 0;
    for (int run = 0; run < runs; ++run) best = std::max(best, probe->work() / probe->run());
    result.push_back({row.ceiling, best / 1e9, row.units});
  }
  return result;
}

}  // namespace tessera::inline v1::memory
