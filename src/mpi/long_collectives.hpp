#pragma once
// Collectives of long vectors go one way whatever the library would do: most of their bytes between
// near ranks. Networks give neighbours more than ranks far apart, and a plan can say what takes how
// long.

#include <bit>
#include <span>

#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// Sums of this many bytes on this many ranks go in parts: twice their bytes, not log2(ranks)
/// times; else the library decides.
[[nodiscard]] constexpr bool sums_in_parts(index_t bytes, index_t ranks) {
  return ranks > 2 && bytes >= index_t{64} << 10;
}

/// In place, on every rank. Collective.
void sum_in_parts(const Communicator& comm, std::span<index_t> values);

/// What all gather is doubled from round to round when it is so many bytes of all ranks, and these
/// are a power of two; else the library decides.
[[nodiscard]] constexpr bool gathers_by_doubling(index_t bytes_of_all, index_t ranks) {
  return ranks > 2 && std::has_single_bit(static_cast<std::uint64_t>(ranks)) &&
         bytes_of_all >= index_t{16} << 10;
}

/// all: the blocks of rank 0, 1, ... Collective.
void gather_by_doubling(const Communicator& comm, std::span<const std::byte> mine,
                        std::span<std::byte> all);

}  // namespace tessera::mpi
