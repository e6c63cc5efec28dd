#pragma once
// Comparison of each row of an order with its predecessor; private to this folder.

#include "dist/sort/argsort.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::dist::sort {

enum class KeyStep : unsigned char { equal, up, down };

/// This rank's indices, preceded by the last one of the lower ranks if there is one, and the
/// comparisons: steps[j] compares the rows indices[j] and indices[j + 1].
struct AdjacentRows {
  machine::Buffer<std::uint64_t> indices;
  machine::Buffer<KeyStep> steps;
  bool has_row_before = false;
};
/// Compares adjacent rows. Ranks may hold any number of indices. Collective.
[[nodiscard]] AdjacentRows compare_neighbours(const mpi::Communicator& comm,
                                              const layout::BlockMap& map,
                                              const std::vector<KeyColumn>& columns,
                                              std::span<const std::uint64_t> permutation,
                                              int threads);

/// Returns the number of neighbours out of order by (columns, index). Collective.
[[nodiscard]] index_t out_of_order(const mpi::Communicator& comm, const AdjacentRows& rows);

}  // namespace tessera::inline v1::dist::sort
