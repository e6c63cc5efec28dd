#pragma once
// The costs of a team of threads in the OpenMP runtime (as EPCC's, Bull 1999).

namespace tessera::inline v1::forkjoin {

struct TeamCosts {
  double region = 0;   ///< seconds to start a team and to wait for its end
  double barrier = 0;  ///< seconds of a barrier of the team
};

/// Returns the costs in an undisturbed team: lower deciles. Call it outside any parallel region.
[[nodiscard]] TeamCosts team_costs(int threads);

}  // namespace tessera::inline v1::forkjoin
