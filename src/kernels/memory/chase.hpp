#pragma once
// Pointer chases: every load needs the one before it, so the time of a step is a latency (as
// lat_mem_rd of McVoy and Staelin 1996).

#include "base/index.hpp"
#include "machine/pages.hpp"

namespace tessera::inline v1::memory {

/// Places of `count` elements in memory, `stride` bytes apart. Elements more than a line apart are
/// shifted by a line each within their stride, so that they fall into different sets of a cache.
struct ChaseShape {
  index_t count, stride;
  [[nodiscard]] index_t bytes() const { return count * stride; }
};

/// Links the elements into one cycle in random order (Sattolo 1986), a function of the seed.
/// Preconditions: count >= 1, stride is a multiple of 8, the memory has shape.bytes() bytes.
void link_cycle(std::byte* memory, const ChaseShape& shape, std::uint64_t seed);

/// Follows `steps` links; returns where they lead. steps is a multiple of chase_unroll.
[[nodiscard]] const void* follow(const void* from, index_t steps);
inline constexpr index_t chase_unroll = 16;

/// Seconds per step over some runs.
struct StepTime {
  double least, median;  ///< other processes only add time: the least is the machine's
};
/// Links a cycle, follows it once to warm the caches, then measures several runs.
[[nodiscard]] StepTime chase(const machine::PagedMemory& memory, const ChaseShape& shape);

/// Returns the seconds of a processor cycle now: of an addition of registers in a chain of them.
[[nodiscard]] double cycle_seconds();

}  // namespace tessera::inline v1::memory
