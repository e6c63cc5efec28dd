#pragma once
// Splitters that cut the keys of all ranks into shares, from histograms of digits (multiselection
// by radix): arithmetic, the same on every rank, tested without a device.

#include <vector>

#include "kernels/sort/resident.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::dist::sort {

using tessera::sort::Bounds;
using tessera::sort::Prefixes;

/// A rank's boundary keys: ordered bits of the first and the last, and whether any key is less than
/// its predecessor.
struct Ends {
  index_t keys = 0;
  std::uint64_t first = 0, last = 0, descends = 0;
};
/// Returns whether keys are in order on every rank and across ranks, so that no sort is needed.
[[nodiscard]] bool in_order(std::span<const Ends> ranks);

/// Searches bounds with given numbers of keys below them, digit by digit, until at most `tolerance`
/// keys are in doubt; equal keys are cut exactly.
template <class B>
class BoundSearch {
 public:
  /// targets: numbers of keys of all ranks below each bound, ascending, at most `total`.
  BoundSearch(std::vector<index_t> targets, index_t total, index_t tolerance);

  [[nodiscard]] bool done() const;
  /// Returns the prefixes whose digits must be counted next.
  [[nodiscard]] Prefixes<B> wanted() const;
  /// Narrows the bounds by the counts of wanted(), by prefix and digit: of all ranks, and of this
  /// one.
  void refine(std::span<const index_t> all, std::span<const index_t> mine);

  /// The bounds, and this rank's number of keys below each; equal keys at a bound are assigned to
  /// the ranks in order, by an exclusive scan. finish() returns them; n: this rank's keys.
  /// Collective.
  struct FoundBounds {
    Bounds<B> bounds;
    std::vector<index_t> below;
  };
  [[nodiscard]] FoundBounds finish(const mpi::Communicator& comm, index_t n) const;

 private:
  struct Bound {
    index_t target = 0;
    B prefix = 0;
    index_t below = 0, mine_below = 0;  ///< keys before those with the prefix
    index_t in = 0, mine_in = 0;        ///< keys with the prefix
    bool found = false;
    bool everything = false;  ///< all keys are below
    B at = 0;
  };
  void settle(Bound& bound) const;
  [[nodiscard]] std::size_t number_of(const Prefixes<B>& prefixes, B prefix) const;

  index_t tolerance_;
  int known_ = 0;
  std::vector<Bound> bounds_;
};

}  // namespace tessera::inline v1::dist::sort
