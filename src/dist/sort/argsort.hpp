#pragma once
// The permutation that sorts, by one column or by several.

#include "dist/sort/key_words.hpp"
#include "dist/sort/permute.hpp"
#include "dist/sort/sort.hpp"
#include "machine/buffer.hpp"

namespace tessera::dist::sort {

/// What one digit (key_words.hpp) brought in order, if it did: this rank's part of the rows in
/// order, each with its digit.
struct SortedDigits {
  bool there = false;
  KeyDigit digit;
  machine::Buffer<tessera::sort::Pair> pairs;  ///< (digit, row)
};

/// permutation[0 : share] = this rank's part of the stable permutation: element j of the sorted
/// order is element permutation[j] of the columns (this rank's part of the map); the first column
/// weighs most, columns of equal values keep the order they came in. By the first digit
/// (key_words.hpp), then tie by tie, where few rows have the same; else by stable passes, one a
/// digit, from the last to the first. One column of strings on one rank goes by its words
/// (kernels/sort/records.hpp). Collective. Adds to the phases of sort_pairs and to "permute".
/// `kept` gets the digits where one decides.
void argsort(const mpi::Communicator& comm, const layout::BlockMap& map,
             const std::vector<KeyColumn>& columns, const Method& method,
             std::uint64_t* permutation, mpi::Phases& phases, SortedDigits* kept = nullptr);

}  // namespace tessera::dist::sort
