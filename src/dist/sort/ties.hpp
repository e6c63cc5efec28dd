#pragma once
// Tie breaking: orders rows with equal first digits by their further digits (MSD radix order).

#include <cstdint>
#include <functional>
#include <span>

#include "kernels/sort/key.hpp"
#include "layout/block_map.hpp"
#include "mpi/communicator.hpp"
#include "mpi/phases.hpp"

namespace tessera::inline v1::dist::sort {

/// Access to further digits, with two buffers of one value per row of this rank: for rows in input
/// order, and for tied ones.
struct TieBreak {
  const mpi::Communicator& comm;
  const layout::BlockMap& map;
  std::size_t digits = 0;  ///< of the keys, including the digit by which the rows are in order
  /// Sets to[j] to that digit of this rank's row j; uses the other buffer as scratch.
  std::function<void(std::size_t digit, std::uint64_t* to, std::uint64_t* scratch)> digit_of_rows;
  std::span<std::uint64_t> of_rows, of_ties;
  int threads = 1;
};

/// Sorts rows, given as pairs (first digit, row number) in order, this rank's part of them, by all
/// digits and the number. Fetches digit after digit of the rows that are still tied only (most
/// significant digit first: Bentley and Sedgewick 1997). All ranks that hold a part of a tie sort
/// it. Returns false, with the pairs in no order, if a tie across ranks is too long, or a rank has
/// no row. Overwrites the keys of the pairs. Adds to the phases "sort" and "permute". Collective.
[[nodiscard]] bool break_ties(const TieBreak& how, std::span<tessera::sort::Pair> pairs,
                              mpi::Phases& phases);

}  // namespace tessera::inline v1::dist::sort
