#pragma once
// How matrices travel between host and device (cuda_staging.hpp): arithmetic only.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/index.hpp"

namespace tessera::machine {

struct StagingPlan {
  enum class Way {
    automatic,  ///< straight where the host's memory is pinned and its rows are not many short ones
    chunks,
    straight,
  };
  Way way = Way::automatic;
  index_t job_bytes = 0;    ///< that will go one way, for chunks of a size that fits; 0: many
  index_t chunk_bytes = 0;  ///< 0: by the job
  index_t chunks_there = 4,
          chunks_back =
              8;    ///< at most, pinned as they are needed; whoever brings waits for a free one
  int threads = 0;  ///< that fill and empty chunks; 0: machine::default_threads()
};

/// Of 32 MiB an H200 and the host beside it passed 10 to 18 % more than of 8 MiB (16 there, 32
/// back) through a product of n = 8192, as much of n = 32768. Small jobs take smaller ones, so that
/// the first is soon on its way and no more is pinned than they need.
[[nodiscard]] inline index_t chunk_bytes_of(const StagingPlan& plan) {
  constexpr index_t least = index_t{1} << 20, most = index_t{32} << 20;
  if (plan.chunk_bytes > 0) return plan.chunk_bytes;
  if (plan.job_bytes == 0) return most;
  constexpr index_t parts = 8;  // of a job: so many travel, or are filled, one behind the other
  const auto part = std::bit_floor(static_cast<std::uint64_t>(ceil_div(plan.job_bytes, parts)));
  return std::clamp(static_cast<index_t>(part), least, most);
}

}  // namespace tessera::machine
