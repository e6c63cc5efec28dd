#pragma once
// Long sums of integers go in parts whatever the library would do: twice their bytes, not log2(ranks) times.

#include <span>

#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// Of this many bytes on this many ranks; else the library decides.
[[nodiscard]] constexpr bool sums_in_parts(index_t bytes, index_t ranks) {
  return ranks > 2 && bytes >= index_t{64} << 10;
}

/// In place, on every rank. Collective.
void sum_in_parts(const Communicator& comm, std::span<index_t> values);

}  // namespace tessera::mpi
