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

/// Returns the size of a chunk. In a product of n = 8192, 32 MiB (4 there, 8 back) transferred 10
/// to 18 % more between an H200 and its host than 8 MiB (16 there, 32 back); for n = 32768 both
/// were equal. Small jobs use smaller chunks, so that the first departs early and less memory is
/// pinned.
[[nodiscard]] inline index_t chunk_bytes_of(const StagingPlan& plan) {
  constexpr index_t least = index_t{1} << 20, most = index_t{32} << 20;
  if (plan.chunk_bytes > 0) return plan.chunk_bytes;
  if (plan.job_bytes == 0) return most;
  constexpr index_t parts = 8;  // per job: pipeline stages
  const auto part = std::bit_floor(static_cast<std::uint64_t>(ceil_div(plan.job_bytes, parts)));
  return std::clamp(static_cast<index_t>(part), least, most);
}

}  // namespace tessera::inline v1::machine
