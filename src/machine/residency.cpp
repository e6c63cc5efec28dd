#include "machine/residency.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace tessera::inline v1::machine {
namespace {

constexpr index_t kib = 1024;

constexpr std::array<ComputeCapability, 16> table{{
    {"2.0", "GTX 580", {1536, 8, 32768, 32768, 63, 64, 2, 2, 48 * kib, 48 * kib, 128, 0}},
    {"3.0", "GTX 680", {2048, 16, 65536, 65536, 63, 256, 4, 4, 48 * kib, 48 * kib, 256, 0}},
    {"3.5", "K40", {2048, 16, 65536, 65536, 255, 256, 4, 4, 48 * kib, 48 * kib, 256, 0}},
    {"3.7", "K80", {2048, 16, 131072, 65536, 255, 256, 4, 4, 112 * kib, 48 * kib, 256, 0}},
    {"5.0", "GTX 750", {2048, 32, 65536, 65536, 255, 256, 4, 4, 64 * kib, 48 * kib, 256, 0}},
    {"5.2", "GTX 980", {2048, 32, 65536, 65536, 255, 256, 4, 4, 96 * kib, 48 * kib, 256, 0}},
    {"6.0", "P100", {2048, 32, 65536, 65536, 255, 256, 2, 4, 64 * kib, 48 * kib, 256, 0}},
    {"6.1", "GTX 1080", {2048, 32, 65536, 65536, 255, 256, 4, 4, 96 * kib, 48 * kib, 256, 0}},
    {"7.0", "V100", {2048, 32, 65536, 65536, 255, 256, 4, 4, 96 * kib, 96 * kib, 256, 0}},
    {"7.5", "T4, RTX 2080", {1024, 16, 65536, 65536, 255, 256, 4, 4, 64 * kib, 64 * kib, 256, 0}},
    {"8.0", "A100", {2048, 32, 65536, 65536, 255, 256, 4, 4, 164 * kib, 163 * kib, 128, kib}},
    {"8.6",
     "A40, RTX 3090",
     {1536, 16, 65536, 65536, 255, 256, 4, 4, 100 * kib, 99 * kib, 128, kib}},
    {"8.9",
     "L40, RTX 4090",
     {1536, 24, 65536, 65536, 255, 256, 4, 4, 100 * kib, 99 * kib, 128, kib}},
    {"9.0", "H100, H200", {2048, 32, 65536, 65536, 255, 256, 4, 4, 228 * kib, 227 * kib, 128, kib}},
    {"10.0", "B200", {2048, 32, 65536, 65536, 255, 256, 4, 4, 228 * kib, 227 * kib, 128, kib}},
    {"12.0", "RTX 5090", {1536, 24, 65536, 65536, 255, 256, 4, 4, 100 * kib, 99 * kib, 128, kib}},
}};

/// The launch check assumes that all partitions take the same number of warps, and four of them
/// also where there are two (6.0), so that a block runs on all devices of the family or on none.
index_t blocks_by_registers(const Multiprocessor& of, index_t warps, index_t of_warp,
                            index_t of_thread) {
  if (of_thread > of.thread_registers) return 0;
  if (of_warp * round_up(warps, of.checked_warps) > of.block_registers) return 0;
  return of.registers / of.partitions / of_warp * of.partitions / warps;
}

}  // namespace

Residency residency(const Multiprocessor& of, const BlockShape& block) {
  Residency r;
  const index_t warps = std::max<index_t>(1, ceil_div(block.threads, warp_threads));
  const index_t of_warp = round_up(block.registers * warp_threads, of.register_unit);
  r.block_registers = of_warp * warps;
  r.block_shared_bytes = round_up(block.shared_bytes + of.reserved_bytes, of.shared_unit);
  r.by_warps = of.threads / warp_threads / warps;
  r.by_blocks = of.blocks;
  // A resource that a block does not use does not limit: as many blocks as there can be, and one.
  r.by_registers =
      of_warp > 0 ? blocks_by_registers(of, warps, of_warp, block.registers) : of.blocks + 1;
  r.by_shared = block.shared_bytes > of.block_shared_bytes ? 0
                : r.block_shared_bytes > 0                 ? of.shared_bytes / r.block_shared_bytes
                                                           : of.blocks + 1;
  r.blocks = std::min({r.by_warps, r.by_blocks, r.by_registers, r.by_shared});
  r.warps = r.blocks * warps;
  r.occupancy = static_cast<double>(r.warps * warp_threads) / static_cast<double>(of.threads);
  for (const auto& [name, fit] : {std::pair{"warps", r.by_warps},
                                  {"blocks", r.by_blocks},
                                  {"registers", r.by_registers},
                                  {"shared memory", r.by_shared}}) {
    if (fit == r.blocks) r.limit += (r.limit.empty() ? "" : ", ") + std::string(name);
  }
  return r;
}

std::span<const ComputeCapability> compute_capabilities() { return table; }

const ComputeCapability& compute_capability(std::string_view version) {
  std::vector<std::string> names;
  for (const ComputeCapability& row : table) {
    if (row.version == version) return row;
    names.emplace_back(row.version);
  }
  throw Error(ExitCode::usage, fmt::format("compute capability '{}' is unknown; use one of {}",
                                           version, join(names, ", ")));
}

}  // namespace tessera::inline v1::machine
