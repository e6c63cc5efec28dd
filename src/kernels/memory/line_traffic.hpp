#pragma once
// Costs of a cache line that threads of a team write: its way between two cores, and atomic
// updates.

#include "kernels/memory/chase.hpp"

namespace tessera::inline v1::memory {

/// Returns the seconds for a word to travel one way between two processing units: half a round
/// trip of a line that both write in turns. Starts and binds two threads; takes at most about
/// `patience` seconds.
[[nodiscard]] StepTime line_latency(int unit, int other, double patience = 0.1);

enum class Update { add, compare_exchange };  ///< relaxed fetch_add; a loop until it succeeds

/// Returns the seconds of an atomic update by each of `threads` threads at once, of words `apart`
/// bytes apart: 0: one word for all; below the size of a line: false sharing. Precondition: a
/// multiple of 8. NaN if the threads never ran at once, as on a busy machine. Starts a
/// team.
[[nodiscard]] StepTime update_time(Update update, index_t apart, int threads);

}  // namespace tessera::inline v1::memory
