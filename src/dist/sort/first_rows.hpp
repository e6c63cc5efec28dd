#pragma once
// Partial sorts: the first rows (top k) without sorting the others, and the first row of each key.

#include "dist/sort/argsort.hpp"

namespace tessera::inline v1::dist::sort {

using Indices = std::span<const std::uint64_t>;

/// Returns this rank's part of BlockMap(count, ranks) of the first `count` elements (at most all)
/// of argsort's permutation: finds the last key by counting and sorts only the keys up to it. Adds
/// to the phases of argsort and to "select". Collective.
[[nodiscard]] std::vector<std::uint64_t> argsort_first(const mpi::Communicator& comm,
                                                       const layout::BlockMap& map,
                                                       const std::vector<KeyColumn>& columns,
                                                       index_t count, const Method& method,
                                                       mpi::Phases& phases);

/// Returns the number of faults of argsort_first's result: neighbours out of order by (columns,
/// index), and one unless exactly count - 1 rows are before its last one. Collective.
[[nodiscard]] index_t faults_of_first(const mpi::Communicator& comm, const layout::BlockMap& map,
                                      const std::vector<KeyColumn>& columns, Indices permutation,
                                      int threads);

/// Returns the elements of a sorting permutation whose rows differ as numbers in some column from
/// their predecessor. Collective.
[[nodiscard]] std::vector<std::uint64_t> first_of_each(const mpi::Communicator& comm,
                                                       const layout::BlockMap& map,
                                                       const std::vector<KeyColumn>& columns,
                                                       Indices permutation, int threads);

/// As above, from pairs of a number that identifies the key and the row, this rank's part of all
/// rows in order. Collective.
[[nodiscard]] std::vector<std::uint64_t> first_of_each(const mpi::Communicator& comm,
                                                       std::span<const tessera::sort::Pair> pairs);

/// Returns the last pair of the lower ranks, if any has one. Collective.
[[nodiscard]] std::optional<tessera::sort::Pair> pair_before(
    const mpi::Communicator& comm, std::span<const tessera::sort::Pair> pairs);

}  // namespace tessera::inline v1::dist::sort
