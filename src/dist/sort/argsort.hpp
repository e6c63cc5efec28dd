#pragma once
// Distributed argsort by one or several columns: a single sort by the leading digit with ties
// broken by further digits, otherwise a stable LSD radix sort over digits of up to 64 bits; one
// distributed sort a pass.

#include <vector>

#include "dist/sort/key_words.hpp"
#include "dist/sort/permute.hpp"
#include "dist/sort/sort.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::dist::sort {

/// The order by one digit (key_words.hpp), if it decided: this rank's part of the sorted rows, each
/// with its digit.
struct SortedDigits {
  bool there = false;
  KeyDigit digit;
  machine::Buffer<tessera::sort::Pair> pairs;  ///< (digit, row)
};

/// Writes this rank's part of the stable permutation to permutation[0 : share]: element j of the
/// sorted order is element permutation[j] of the columns (this rank's part of the map); the first
/// column is the most significant, rows equal in all columns keep their input order. Sorts by the
/// first digit (key_words.hpp) and breaks ties if few rows share it, otherwise in stable passes,
/// one per digit, from the last to the first. A single column of strings on one rank is sorted by
/// its words (kernels/sort/records.hpp). Sets `kept` to the digits if one digit decides. Adds to
/// the phases of sort_pairs and to "permute". Collective.
void argsort(const mpi::Communicator& comm, const layout::BlockMap& map,
             const std::vector<KeyColumn>& columns, const Method& method,
             std::uint64_t* permutation, mpi::Phases& phases, SortedDigits* kept = nullptr);

/// As above for any number of rows on each rank: this rank has `rows` rows of the columns, and rows
/// are numbered from rank to rank. Returns this rank's part of BlockMap(total, ranks) of the
/// permutation. Holds a second copy of the keys where the numbers of rows are uneven. Adds their
/// exchange to the phase "exchange". Collective.
[[nodiscard]] std::vector<std::uint64_t> argsort(const mpi::Communicator& comm, index_t rows,
                                                 const std::vector<KeyColumn>& columns,
                                                 const Method& method, mpi::Phases& phases);
[[nodiscard]] inline std::vector<std::uint64_t> argsort(const mpi::Communicator& comm, index_t rows,
                                                        const std::vector<KeyColumn>& columns,
                                                        const Method& method = {}) {
  mpi::Phases unused;
  return argsort(comm, rows, columns, method, unused);
}

}  // namespace tessera::inline v1::dist::sort
