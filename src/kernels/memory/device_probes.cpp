// The parameters of device probes; ceilings.

#include "kernels/memory/device_probes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace tessera::inline v1::memory {
namespace {

constexpr std::array<DeviceParameter, 9> parameters{{
    {"offset", &DeviceWalk::offset, 0, 1 << 20,
     "words from an aligned address to the first copied word"},
    {"lane-stride", &DeviceWalk::lane_stride, 0, 1 << 20,
     "words of 4 bytes between the accesses of adjacent threads"},
    {"bins", &DeviceWalk::bins, 1, 12288, "number of bins of the histogram"},
    {"ways", &DeviceWalk::ways, 1, 32, "number of branches that the threads of a warp take"},
    {"streams", &DeviceWalk::streams, 1, 16,
     "number of CUDA streams that share the pieces of a transfer"},
    {"issue",
     &DeviceWalk::issue,
     0,
     1,
     "order in which transfers and kernels are issued: depth first (all of a piece) or breadth "
     "first (one of every stream)",
     {"depth", "breadth"}},
    {"host-rounds", &DeviceWalk::host_rounds, 0, 1 << 20,
     "steps that the host computes on another piece, concurrently"},
    {"page", &DeviceWalk::page, 128, 1 << 30, "bytes between the loads of a chase", {}, true},
    {"passes", &DeviceWalk::passes, 1, 1000,
     "passes of the loop inside the kernel; --rounds are launches"},
}};

// In 8 KB of shared or constant memory: enough for every conflict to occur twice.
constexpr index_t most_lane_stride = 64;

}  // namespace

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
  const bool few_words = row.name == "cuda_shared_stride" || row.name == "cuda_read_constant";
  require(!few_words || stride <= most_lane_stride, ExitCode::usage,
          fmt::format("--lane-stride {} exceeds the words of {}: must be at most {}", stride,
                      row.name, most_lane_stride));
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
