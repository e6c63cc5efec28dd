#pragma once
// The index-mixed checksum of a distributed matrix: that of op(a) equals that of a, and no other.

#include "dist/transpose/transpose.hpp"
#include "kernels/transpose/checksum.hpp"

namespace tessera::dist::transpose {

/// Collective; the same on every rank and for every layout. indices: swapped for a transpose that
/// is to be compared with its original.
[[nodiscard]] std::uint64_t matrix_checksum(const mpi::Communicator& comm,
                                            const DistributedRecords& matrix,
                                            tessera::transpose::Indices indices, std::uint64_t seed,
                                            int threads);

/// Whether task.b holds alpha * op(a) + beta * old_b to the last bit (any NaN serves for a NaN).
/// Collective; takes another way to op(a), whose checksum must be that of a, and memory for a
/// result and its exchange. old_b: what b held before; unread when beta is 0.
[[nodiscard]] bool is_update(const mpi::Communicator& comm, const Task& task,
                             const DistributedRecords& old_b, std::uint64_t seed, int threads);

}  // namespace tessera::dist::transpose
