#pragma once
// The index-mixed checksum of a distributed matrix: that of op(a) equals that of a, and no other.

#include "dist/records.hpp"
#include "kernels/transpose/checksum.hpp"

namespace tessera::dist::transpose {

/// Collective; the same on every rank and for every layout. indices: swapped for a transpose that is to be
/// compared with its original.
[[nodiscard]] std::uint64_t matrix_checksum(const mpi::Communicator& comm, const DistributedRecords& matrix,
                                            tessera::transpose::Indices indices, std::uint64_t seed, int threads);

}  // namespace tessera::dist::transpose
