#pragma once
// Elements by their global index, wherever they lie.

#include <cstddef>
#include <cstdint>
#include <span>

#include "layout/block_map.hpp"
#include "mpi/communicator.hpp"

namespace tessera::dist::sort {

/// A column of elements of any fixed size: this rank's part of a map, as bytes.
struct ColumnView {
  const std::byte* data = nullptr;
  index_t element_bytes = 0;
};

/// Requests that a rank makes at once; more are made in rounds.
inline constexpr index_t requests_at_once = index_t{1} << 22;

/// Whether a column that one rank has is best permuted where it lies (kernels/sort/permute.hpp): from a few
/// words an element on, a copy in order costs more than the way along the cycles.
[[nodiscard]] constexpr bool permuted_in_place(int ranks, index_t element_bytes) {
  return ranks == 1 && element_bytes >= 32;
}

/// to[j] = element indices[j] of the whole; indices lie in [0, map.extent()), may repeat, and are as many as
/// this rank likes. `column` is this rank's part. Collective.
void gather(const mpi::Communicator& comm, const layout::BlockMap& map, ColumnView column,
            std::span<const std::uint64_t> indices, std::byte* to, int threads);

template <class T>
void gather(const mpi::Communicator& comm, const layout::BlockMap& map, const T* column,
            std::span<const std::uint64_t> indices, T* to, int threads) {
  gather(comm, map, {reinterpret_cast<const std::byte*>(column), static_cast<index_t>(sizeof(T))}, indices,
         reinterpret_cast<std::byte*>(to), threads);
}

}  // namespace tessera::dist::sort
