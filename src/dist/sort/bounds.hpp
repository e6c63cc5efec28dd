#pragma once
// Where to cut the keys of all ranks into shares, found from counts by digits: arithmetic, the same
// on every rank, tested without a device.

#include <vector>

#include "kernels/sort/resident.hpp"
#include "mpi/communicator.hpp"

namespace tessera::dist::sort {

using tessera::sort::Bounds;
using tessera::sort::Prefixes;

/// What a rank's keys are to its neighbours': bits of the first and the last, and whether one is
/// less than the one before it.
struct Ends {
  index_t keys = 0;
  std::uint64_t first = 0, last = 0, descends = 0;
};
/// Whether keys are in order on every rank and from rank to rank: nothing is to be done then.
[[nodiscard]] bool in_order(std::span<const Ends> ranks);

/// Looks for bounds below which as many keys lie as wanted, digit after digit, until no more than
/// `tolerance` keys are in doubt; keys that are all alike are cut to the key.
template <class B>
class BoundSearch {
 public:
  /// targets: keys of all ranks wanted below each bound, ascending, at most `total`.
  BoundSearch(std::vector<index_t> targets, index_t total, index_t tolerance);

  [[nodiscard]] bool done() const;
  /// What has to be counted next.
  [[nodiscard]] Prefixes<B> wanted() const;
  /// Counts of what was wanted, by prefix and digit: of all ranks, and of this one.
  void tell(std::span<const index_t> all, std::span<const index_t> mine);

  /// The bounds, and this rank's keys below each: what is cut among keys that are all alike is the
  /// ranks' in their order. n: this rank's keys. Collective.
  struct FoundBounds {
    Bounds<B> bounds;
    std::vector<index_t> below;
  };
  [[nodiscard]] FoundBounds finish(const mpi::Communicator& comm, index_t n) const;

 private:
  struct Bound {
    index_t target = 0;
    B prefix = 0;
    index_t below = 0, mine_below = 0;  ///< keys before those that begin so
    index_t in = 0, mine_in = 0;        ///< keys that begin so
    bool found = false;
    bool everything = false;  ///< all keys lie below
    B at = 0;
  };
  void settle(Bound& bound) const;
  [[nodiscard]] std::size_t number_of(const Prefixes<B>& prefixes, B prefix) const;

  index_t tolerance_;
  int known_ = 0;
  std::vector<Bound> bounds_;
};

}  // namespace tessera::dist::sort
