#pragma once
// Order statistics without sorting: multiselection by histograms of 12 bits a pass.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mpi/communicator.hpp"

namespace tessera::inline v1::dist::sort {

/// Provides keys of this rank as ordered bits (key.hpp), in pieces of any sizes, the same in every
/// pass.
using BitsPiece = std::function<void(std::span<const std::uint64_t>)>;
using BitsPass = std::function<void(const BitsPiece& piece)>;

/// A key at a position of the sorted order.
struct Selected {
  std::uint64_t bits = 0;
  index_t below = 0;  ///< keys of all ranks that are smaller
};

/// Returns the keys at the positions (in any order, each in [0, number of keys of all ranks)). One
/// pass finds the range of the keys, then each pass narrows the intervals by 12 bits until few
/// enough keys remain to be kept: usually three passes, at most eight. Every rank makes the same
/// passes. Collective.
[[nodiscard]] std::vector<Selected> select(const mpi::Communicator& comm, const BitsPass& pass,
                                           std::span<const index_t> positions);

/// Positions of a linear quantile (numpy's default): floor and ceil of q (n - 1), and the fraction
/// between them.
struct QuantilePlace {
  index_t below = 0, above = 0;
  double fraction = 0;
};
[[nodiscard]] QuantilePlace quantile_place(double q, index_t n);

}  // namespace tessera::inline v1::dist::sort
