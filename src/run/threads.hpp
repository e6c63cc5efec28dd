#pragma once
// Default number of threads per rank, and checks of the OpenMP environment.

#include <optional>

#include "run/roll_call.hpp"

namespace tessera::inline v1::run {

/// Sets the default number of OpenMP threads: OMP_NUM_THREADS if set, else the cores of this rank
/// divided by the ranks of the node with exactly the same cores (bound ranks have their own),
/// limited to its share of a container's processor time; at most OMP_THREAD_LIMIT. Disables dynamic
/// teams and overrides OMP_MAX_ACTIVE_LEVELS=0, so that the results list the threads that ran.
void set_thread_default(const Neighbours& neighbours);

/// Upper bound of --threads and OMP_NUM_THREADS.
inline constexpr int most_threads = 4096;

/// Stack that recursion may use, bytes.
inline constexpr index_t least_stack = index_t{512} << 10;  // sorts use more than 128 KiB

/// Returns the thread stack size of OMP_STACKSIZE, bytes; nullopt if it is unset or malformed.
[[nodiscard]] std::optional<index_t> openmp_stack();

/// Throws if the environment would end a run in a segmentation fault or an OpenMP error:
/// Error(usage) for more than most_threads threads, Error(memory) for stacks too small for
/// recursion or too large to allocate. Precondition: MPI is not initialised.
void require_threads_can_start();

/// Throws Error(usage) if OMP_THREAD_LIMIT is lower than `threads`.
void require_threads(int threads);

}  // namespace tessera::inline v1::run
