#pragma once
// The index-mixed checksum of a distributed matrix: equal for op(a) and a, different for other
// matrices up to hash collisions. One pass over the matrix and one reduction.

#include "dist/transpose/transpose.hpp"
#include "kernels/transpose/checksum.hpp"

namespace tessera::inline v1::dist::transpose {

/// Returns the checksum, the same on every rank and for every layout. indices: swapped for a
/// transpose to be compared with its original. Collective.
[[nodiscard]] std::uint64_t matrix_checksum(const mpi::Communicator& comm,
                                            const DistributedRecords& matrix,
                                            tessera::transpose::Indices indices, std::uint64_t seed,
                                            int threads);

/// Returns whether task.b equals alpha * op(a) + beta * old_b bit by bit (any NaN matches a NaN).
/// Computes op(a) by a different algorithm, verifies its checksum against that of a, and needs
/// memory for a result and its exchange. old_b is the former value of b, not read if beta is 0.
/// Collective.
[[nodiscard]] bool is_update(const mpi::Communicator& comm, const Task& task,
                             const DistributedRecords& old_b, std::uint64_t seed, int threads);

}  // namespace tessera::inline v1::dist::transpose
