// The table of device probes with their parameters and defaults.

#include "kernels/memory/device_probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera::memory {
namespace {

constexpr index_t mib = index_t{1} << 20, gib = mib << 10;
constexpr const char* bandwidth = "GB/s";

// Much more than the second-level caches (60 MB on the largest so far), for probes of memory.
constexpr DeviceWalk large{.bytes = 512 * mib, .rounds = 1};
constexpr DeviceWalk larger{.bytes = gib, .rounds = 1};
// As many threads as fit the device, and enough steps for a launch of about a millisecond.
constexpr DeviceWalk in_registers{.bytes = 0, .rounds = 4096};
constexpr DeviceWalk transfer{.bytes = 256 * mib, .rounds = 1};
constexpr DeviceWalk migration{.bytes = 64 * mib, .rounds = 1};

constexpr DeviceWalk with(DeviceWalk walk, DeviceMember member, index_t value) {
  walk.*member = value;
  return walk;
}

constexpr std::array<DeviceProbeVariant, 28> table{{
    {{"cuda_copy", Space::device, "16 bytes a thread and load, four of them in flight"},
     bandwidth,
     "gpu_copy",
     2,
     1,
     large},
    {{"cuda_copy_engine", Space::device, "the same by cudaMemcpyAsync, for reference"},
     bandwidth,
     "gpu_copy",
     2,
     1,
     large},
    {{"cuda_copy_offset", Space::device,
      "words from and to --offset words behind an aligned place"},
     bandwidth,
     "gpu_copy",
     2,
     1,
     with(large, &DeviceWalk::offset, 0)},
    {{"cuda_copy_stride", Space::device,
      "of an array every --lane-stride-th word; counted are those words"},
     bandwidth,
     "gpu_copy",
     2,
     1,
     with(large, &DeviceWalk::lane_stride, 1)},
    {{"cuda_shared_stride", Space::device,
      "shared memory read --lane-stride words from thread to thread: bank conflicts; 0: all the "
      "same word"},
     bandwidth,
     "",
     1,
     1,
     with({.bytes = 0, .rounds = 1024}, &DeviceWalk::lane_stride, 1)},
    {{"cuda_read", Space::device,
      "every word once, a sum a thread: the rate that a reduction can have"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_reduce_interleaved", Space::device,
      "sum: in blocks, every second thread adds (Harris 2007, 1)"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_reduce_sequential", Space::device,
      "sum: the first half of the threads adds (Harris 2007, 3)"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_reduce_first_add", Space::device,
      "sum: and each adds two words as it loads (Harris 2007, 4)"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_reduce_shuffle", Space::device,
      "sum: and the warps add by shuffles, without shared memory"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_reduce", Space::device,
      "sum: many 16-byte loads a thread, shuffles, one atomic a block (Harris 2007, 7)"},
     bandwidth,
     "gpu_read",
     1,
     0,
     larger},
    {{"cuda_histogram_global", Space::device, "counts in --bins bins by atomics in memory"},
     bandwidth,
     "gpu_read",
     1,
     0,
     with(larger, &DeviceWalk::bins, 256)},
    {{"cuda_histogram_shared", Space::device,
      "by atomics in bins of the block, added up at its end"},
     bandwidth,
     "gpu_read",
     1,
     0,
     with(larger, &DeviceWalk::bins, 256)},
    {{"cuda_pageable_to_device", Space::device,
      "transfer from ordinary memory: through the driver's buffers"},
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
    {{"cuda_pageable_from_device", Space::device, "transfer to ordinary memory"},
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
      "16 pieces to the device, a kernel each, and back, on --streams streams; begin and end of "
      "each are "
      "kept"},
     bandwidth,
     "",
     2,
     2,
     with({.bytes = 256 * mib, .rounds = 1024}, &DeviceWalk::streams, 4)},
    {{"cuda_divergence", Space::device,
      "the threads of a warp take --ways ways through different code"},
     "Gsteps/s",
     "",
     1,
     1,
     with(in_registers, &DeviceWalk::ways, 1)},
    {{"cuda_fma_f32", Space::device, "fused multiply-adds in registers, eight chains a thread"},
     "GFLOP/s",
     "gpu_fma_f32",
     1,
     1,
     in_registers},
    {{"cuda_fma_f64", Space::device, "the same in double precision"},
     "GFLOP/s",
     "gpu_fma_f64",
     1,
     1,
     in_registers},
    {{"cuda_mma_f64", Space::device,
      "multiply-adds of the tensor units in double precision, in registers"},
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
    {{"cuda_empty", Space::device, "a kernel that does nothing, from launch to launch"},
     "Mlaunches/s",
     "",
     0,
     0,
     {.bytes = 16, .rounds = 64}},
}};

constexpr std::array<DeviceParameter, 5> parameters{{
    {"offset", &DeviceWalk::offset, 0, 1 << 20, "words before the first that is copied"},
    {"lane-stride", &DeviceWalk::lane_stride, 0, 1 << 20,
     "words (4 bytes) from what a thread touches to what the next does"},
    {"bins", &DeviceWalk::bins, 1, 12288, "of a histogram"},
    {"ways", &DeviceWalk::ways, 1, 32, "through different code, that the threads of a warp take"},
    {"streams", &DeviceWalk::streams, 1, 16, "that share the pieces of a transfer"},
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
    require(
        takes(row, p) || walk.*p.member < 0, ExitCode::usage,
        fmt::format("kernel {} has no --{}; drop it, or run that kernel apart", row.name, p.name));
  }
  const index_t stride = result.lane_stride;
  require(row.name != "cuda_shared_stride" || stride <= most_shared_stride, ExitCode::usage,
          fmt::format(
              "--lane-stride {} is beyond the shared memory of cuda_shared_stride; {} is the most",
              stride, most_shared_stride));
  require(
      row.name != "cuda_copy_stride" || stride >= 1, ExitCode::usage,
      "--lane-stride 0 would write one word from all threads; cuda_copy_stride takes 1 or more");
  require(row.most_bytes == 0 || result.bytes <= row.most_bytes, ExitCode::usage,
          fmt::format(
              "kernel {} takes --size {} MiB at most: managed memory stays far below the device's",
              row.name, row.most_bytes >> 20));
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
    if (!probe) return {};
    double best = 0;
    for (int run = 0; run < runs; ++run) best = std::max(best, probe->work() / probe->run());
    result.push_back({row.ceiling, best / 1e9, row.units});
  }
  return result;
}

}  // namespace tessera::memory
