#pragma once
// Rows whose keys begin alike, brought in order by the rest of their keys.

#include <cstdint>
#include <functional>
#include <span>

#include "kernels/sort/key.hpp"
#include "layout/block_map.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"

namespace tessera::dist::sort {

/// What is needed to look on, and room for a value of each row that this rank has: of the rows as
/// they came, and of tied ones.
struct TieBreak {
  const mpi::Communicator& comm;
  const layout::BlockMap& map;
  std::size_t digits = 0;  ///< of the keys, the one that the rows are in order by included
  /// to[j] = that digit of row j of this rank's, with the other room as scratch memory.
  std::function<void(std::size_t digit, std::uint64_t* to, std::uint64_t* scratch)> digit_of_rows;
  std::span<std::uint64_t> of_rows, of_ties;
  int threads = 1;
};

/// Rows in order by (first digit, row number), as pairs of these, this rank's part of them: in
/// order by all digits and the number. Digit after digit is fetched of those rows alone that are
/// still tied (the most significant one first: Bentley and Sedgewick 1997). Ties that reach across
/// ranks are sorted by all ranks that hold a part of them; false, and no order, where one is too
/// long for that, or a rank has no row. The keys of the pairs are lost. Collective. Adds to the
/// phases "sort" and "permute".
[[nodiscard]] bool break_ties(const TieBreak& how, std::span<tessera::sort::Pair> pairs,
                              mpi::Phases& phases);

}  // namespace tessera::dist::sort
