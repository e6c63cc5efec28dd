#pragma once
// What stands at given places of the sorted order, without sorting: by counting.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mpi/communicator.hpp"

namespace tessera::dist::sort {

/// Keys of this rank as ordered bits (key.hpp), told in pieces of any sizes, the same in every
/// pass.
using BitsPiece = std::function<void(std::span<const std::uint64_t>)>;
using BitsPass = std::function<void(const BitsPiece& piece)>;

/// A key that stands at a position of the sorted order.
struct Selected {
  std::uint64_t bits = 0;
  index_t below = 0;  ///< keys of all ranks that are smaller
};

/// The keys at the positions (any order, each in [0, number of keys of all ranks)). A pass finds
/// the range of the keys, then each pass narrows the places that are sought by 12 bits, until few
/// enough keys are left to be kept: three passes as a rule, eight at most. Collective; every rank
/// makes the same passes.
[[nodiscard]] std::vector<Selected> select(const mpi::Communicator& comm, const BitsPass& pass,
                                           std::span<const index_t> positions);

/// What a linear quantile (numpy's default) lies between: keys at floor and ceil of q (n - 1), and
/// how far.
struct QuantilePlace {
  index_t below = 0, above = 0;
  double fraction = 0;
};
[[nodiscard]] QuantilePlace quantile_place(double q, index_t n);

}  // namespace tessera::dist::sort
