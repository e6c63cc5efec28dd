#pragma once
// How many threads a rank should use when nobody says.

#include <optional>

#include "run/roll_call.hpp"

namespace tessera::run {

/// Sets the default number of OpenMP threads: OMP_NUM_THREADS if it is set, else the cores that
/// this rank may use divided by the ranks of the node that may use exactly the same ones (bound
/// ranks have their own), and no more than its share of the processor time that a container has; no
/// more than OMP_THREAD_LIMIT. Teams are as large as they are asked for from then on, whatever
/// OMP_DYNAMIC and OMP_MAX_ACTIVE_LEVELS say: results tell of the threads that ran.
void set_thread_default(const Neighbours& neighbours);

/// What --threads and OMP_NUM_THREADS may ask for.
inline constexpr int most_threads = 4096;

/// Bytes of stack that recursion may take.
inline constexpr index_t least_stack = index_t{512} << 10;  // sorts take more than 128 KiB

/// Bytes that OMP_STACKSIZE gives the stack of a thread; none where it is unset or OpenMP does not
/// read it.
[[nodiscard]] std::optional<index_t> openmp_stack();

/// Throws where a run would end in a segmentation fault or by a word of OpenMP's: Error(usage) for
/// more threads than that, Error(memory) for stacks too small for recursion or too large to be had.
/// To be called before MPI starts.
void require_threads_can_start();

/// Error(usage) where OpenMP would give a team fewer than these.
void require_threads(int threads);

/// To be called before MPI starts. Where the ranks on this node have more threads than processing
/// units, and the environment says nothing of waiting (OMP_WAIT_POLICY, GOMP_SPINCOUNT), runs this
/// program anew in the same process with OMP_WAIT_POLICY=passive: the runtime reads it once, before
/// main, and threads that wait by spinning keep the core from those they wait for. (In-place
/// transpose in 2600 messages, 3 ranks of 2 threads on 2 cores: 50 ms instead of minutes.) threads:
/// the most that a rank will use; 0: not known.
void sleep_while_waiting_when_crowded(char** argv, int threads);

/// Processes times threads > units.
[[nodiscard]] bool is_crowded(int processes, int threads, int units);

}  // namespace tessera::run
