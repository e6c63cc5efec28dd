#pragma once
// Parameters of transfers between host and device (cuda_staging.hpp): arithmetic only.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/index.hpp"

namespace tessera::inline v1::machine {

struct StagingPlan {
  enum class Route {
    automatic,  ///< straight if host memory is pinned and its rows are not many and short
    chunks,
    straight,
  };
  Route route = Route::automatic;
  index_t job_bytes = 0;    ///< bytes per direction, which determine the size of chunks; 0: many
  index_t chunk_bytes = 0;  ///< 0: derived from job_bytes
  index_t chunks_there = 4,
          chunks_back = 8;  ///< maxima, allocated on demand; a bring waits for a free one
  int threads = 0;          ///< that fill and empty chunks; 0: machine::default_threads()
};

/// Returns the size of a chunk: what a first job pins costs as much time as 18 times as many bytes
/// of transfers, and chunks of 4 MiB transfer two thirds of what those of 8 to 32 MiB do. Jobs of
/// 512 MiB and 1.1 GiB there and back (H200, two runs): first 167 and 304, 212 and 245 ms by chunks
/// of 32 MiB, 62 and 67, 141 and 152 by 8 and 16; later ones as fast. Small jobs use smaller
/// chunks, so that the first departs early.
[[nodiscard]] inline index_t chunk_bytes_of(const StagingPlan& plan) {
  constexpr index_t least = index_t{1} << 20, small = index_t{4} << 20, most = index_t{32} << 20;
  if (plan.chunk_bytes > 0) return plan.chunk_bytes;
  if (plan.job_bytes == 0) return most;
  const index_t part = std::max(plan.job_bytes / 64, std::min(plan.job_bytes / 8, small));
  return std::clamp(static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(part))), least,
                    most);
}

}  // namespace tessera::inline v1::machine
