// The table of the probes of cache misses with their defaults.

#include "kernels/memory/misses.hpp"

#include <algorithm>
#include <array>

#include "machine/topology.hpp"

namespace tessera::inline v1::memory {
namespace {

constexpr index_t kib = 1024, mib = kib * kib;

// A probe that suffers precedes its fix.
constexpr std::array<ProbeVariant, 10> table{{
    {{"cold", Space::host, "cold misses: every line once, in an order that defeats prefetchers"},
     MissKind::cold,
     "",
     {64 * mib, 64, 1, 1, 0},
     cold},
    {{"cold_prefetched", Space::host, "cold with software prefetching, 8 touches ahead"},
     MissKind::cold,
     "cold",
     {64 * mib, 64, 1, 1, 0},
     cold_prefetched},
    {{"capacity", Space::host, "capacity misses: rounds over an array larger than the caches"},
     MissKind::capacity,
     "",
     {64 * mib, 64, 8, 1, 0},
     capacity},
    {{"capacity_blocked", Space::host,
      "capacity with blocking: all rounds over one block, then the next"},
     MissKind::capacity,
     "capacity",
     {64 * mib, 64, 8, 1, 0},
     capacity_blocked},
    {{"conflict", Space::host, "conflict misses: rounds down a column with a power-of-two stride"},
     MissKind::conflict,
     "",
     {16 * kib, 64 * kib, 20'000, 1, 0},
     conflict},
    {{"conflict_padded", Space::host, "conflict with rows padded by one line"},
     MissKind::conflict,
     "conflict",
     {16 * kib, 64 * kib, 20'000, 1, 0},
     conflict_padded},
    {{"true_sharing", Space::host, "true sharing: all threads increment one word"},
     MissKind::true_sharing,
     "",
     {8, 8, 5'000'000, 0, 0},
     true_sharing},
    {{"true_sharing_private", Space::host, "true_sharing with private counters, summed at the end"},
     MissKind::true_sharing,
     "true_sharing",
     {8, 8, 5'000'000, 0, 0},
     true_sharing_private},
    {{"false_sharing", Space::host,
      "false sharing: each thread increments a separate word of one line"},
     MissKind::false_sharing,
     "",
     {8, 8, 5'000'000, 0, 0},
     false_sharing},
    {{"false_sharing_padded", Space::host, "false_sharing with the words padded to separate lines"},
     MissKind::false_sharing,
     "false_sharing",
     {8, 8, 5'000'000, 0, 0},
     false_sharing_padded},
}};

index_t second_level() {
  for (const machine::CacheLevel& cache : machine::topology().caches) {
    if (cache.name == "L2") return cache.bytes;
  }
  return 256 * kib;
}

}  // namespace

std::string_view name(MissKind kind) {
  constexpr std::array<std::string_view, 5> names{"cold", "capacity", "conflict", "true sharing",
                                                  "false sharing"};
  return names[static_cast<std::size_t>(kind)];
}

std::span<const ProbeVariant> probes() { return table; }

Walk completed(const ProbeVariant& probe, const Walk& walk) {
  Walk result = walk;
  if (walk.bytes == 0) result.bytes = probe.usual.bytes;
  if (walk.stride == 0) result.stride = probe.usual.stride;
  if (walk.rounds == 0) result.rounds = probe.usual.rounds;
  if (walk.cache == 0) result.cache = second_level() / 2;
  if (probe.usual.threads > 0) result.threads = probe.usual.threads;
  result.bytes = round_up(result.bytes, 8);
  result.stride = round_up(result.stride, 8);
  return result;
}

index_t planned_bytes(const ProbeVariant& probe, const Walk& walk) {
  const index_t rows = std::max<index_t>(1, walk.bytes / 64);
  switch (probe.kind) {
    case MissKind::cold:
      return walk.bytes + std::max(walk.bytes, flush_bytes);
    case MissKind::conflict:
      return checked_mul(rows, walk.stride + 64, "size of a column");
    case MissKind::capacity:
      return std::max(walk.bytes, walk.stride);
    case MissKind::true_sharing:
    case MissKind::false_sharing:
      break;
  }
  return checked_mul(walk.threads, walk.stride + 128, "size of the counters");
}

}  // namespace tessera::inline v1::memory
