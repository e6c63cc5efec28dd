#pragma once
// The costs of tasks in the OpenMP runtime on this machine.

#include "machine/work_span.hpp"

namespace tessera::inline v1::forkjoin {

/// Returns the costs in an undisturbed team of `threads` threads: of a fork while all of them fork,
/// of a join without remaining work, of a steal while the others look for work. In a team of one
/// nothing is stolen and steal is 0. Starts a team; call it outside any parallel region.
[[nodiscard]] machine::TaskCosts task_costs(int threads);

/// Timeout of a steal, in seconds, which is reported if no thief came.
inline constexpr double steal_patience = 0.02;

}  // namespace tessera::inline v1::forkjoin
