#pragma once
// What the OpenMP runtime takes for a task on this machine.

#include "machine/work_span.hpp"

namespace tessera::forkjoin {

/// Costs in an undisturbed team of so many threads: of a fork where all of them fork, of a join
/// where nothing is left to wait for, of a steal where the others look for work. In a team of one
/// nothing is stolen and steal is 0. Makes its own team; call it outside any parallel region.
[[nodiscard]] machine::TaskCosts task_costs(int threads);

/// No thief came within this time: what steal says then, seconds.
inline constexpr double steal_patience = 0.02;

}  // namespace tessera::forkjoin
