#pragma once
// Collectives of long vectors with algorithms independent of the MPI library, which move most bytes
// between near ranks: networks offer neighbours more bandwidth than distant ranks, and plans can
// predict the time.

#include <bit>
#include <span>

#include "mpi/communicator.hpp"

namespace tessera::inline v1::mpi {

/// Returns whether a sum of `bytes` uses sum_in_parts, which moves twice its bytes instead of
/// log2(ranks) times; otherwise the library selects the algorithm.
[[nodiscard]] constexpr bool sums_in_parts(index_t bytes, index_t ranks) {
  return ranks > 2 && bytes >= index_t{64} << 10;
}

/// Sums in place, on every rank. Collective.
void sum_in_parts(const Communicator& comm, std::span<index_t> values);

/// Returns whether an all-gather of `bytes_of_all` uses gather_by_doubling, for a power of two of
/// ranks; otherwise the library selects the algorithm.
[[nodiscard]] constexpr bool gathers_by_doubling(index_t bytes_of_all, index_t ranks) {
  return ranks > 2 && std::has_single_bit(static_cast<std::uint64_t>(ranks)) &&
         bytes_of_all >= index_t{16} << 10;
}

/// Gathers the blocks of all ranks, in the order of ranks, by recursive doubling. Collective.
void gather_by_doubling(const Communicator& comm, std::span<const std::byte> mine,
                        std::span<std::byte> all);

}  // namespace tessera::inline v1::mpi
