#pragma once
// Parts of the sorted order: its first rows without sorting the others, and the first row of each
// key.

#include "dist/sort/argsort.hpp"

namespace tessera::dist::sort {

using Indices = std::span<const std::uint64_t>;

/// The first `count` elements (at most all) of the permutation that argsort makes, this rank's part
/// of BlockMap(count, ranks): the last key among them is found by counting, and only they are
/// sorted. Collective. Adds to the phases of argsort and to "select".
[[nodiscard]] std::vector<std::uint64_t> argsort_first(const mpi::Communicator& comm,
                                                       const layout::BlockMap& map,
                                                       const std::vector<KeyColumn>& columns,
                                                       index_t count, const Method& method,
                                                       mpi::Phases& phases);

/// How many things are wrong with what argsort_first gave: neighbours out of order by (columns,
/// index), and one unless exactly count - 1 rows come before its last one. Collective.
[[nodiscard]] index_t faults_of_first(const mpi::Communicator& comm, const layout::BlockMap& map,
                                      const std::vector<KeyColumn>& columns, Indices permutation,
                                      int threads);

/// Those of a sorting permutation whose rows differ as numbers in some column from the row before.
/// Collective.
[[nodiscard]] std::vector<std::uint64_t> first_of_each(const mpi::Communicator& comm,
                                                       const layout::BlockMap& map,
                                                       const std::vector<KeyColumn>& columns,
                                                       Indices permutation, int threads);

/// The same from pairs of a number that tells the keys apart and the row, this rank's part of all
/// rows in order. Collective.
[[nodiscard]] std::vector<std::uint64_t> first_of_each(const mpi::Communicator& comm,
                                                       std::span<const tessera::sort::Pair> pairs);

/// The last pair of the ranks before this one, if any has one. Collective.
[[nodiscard]] std::optional<tessera::sort::Pair> pair_before(
    const mpi::Communicator& comm, std::span<const tessera::sort::Pair> pairs);

}  // namespace tessera::dist::sort
