#pragma once
// How ranks divide keys together into the buckets of their sort: arithmetic on counts of all ranks,
// the same on every rank, tested without a device.

#include <span>
#include <vector>

#include "kernels/sort/buckets.hpp"
#include "layout/block_map.hpp"

namespace tessera::dist::sort {

namespace buckets = tessera::sort::buckets;

/// Rank r has the buckets [r * into.buckets, (r + 1) * into.buckets) of all.
struct KeyDivision {
  buckets::Division into{};  ///< of a rank
  index_t ranks = 0;
  std::vector<std::uint16_t> bucket_of;  ///< of each fine bin
  std::vector<buckets::Bucket> bucket;   ///< each one's keys of all ranks, among those of its rank
  std::vector<index_t> counts;           ///< (rank, bucket): of the keys that lie there now
  std::vector<index_t> held;             ///< by each rank afterwards

  /// Of the keys that lie with rank `from` in bucket b.
  [[nodiscard]] index_t of(index_t from, index_t b) const {
    return counts[static_cast<std::size_t>(from * ranks * into.buckets + b)];
  }
  [[nodiscard]] const buckets::Bucket& at(index_t b) const {
    return bucket[static_cast<std::size_t>(b)];
  }
};

/// What the ranks saw of their keys, as if they had looked at all: none is going where one is not,
/// or where keys agree in too many bits.
[[nodiscard]] buckets::State common_state(std::span<const buckets::State> all);

/// fine: (rank, fine_bins + 1), the counts of keys. Empty (ranks = 0) if keys do not lie evenly
/// enough, begin otherwise than the state says, or if a share would be off by more than `tolerance`
/// keys.
[[nodiscard]] KeyDivision divide_evenly(const buckets::State& state, std::span<const index_t> fine,
                                        const layout::BlockMap& shares, index_t tolerance,
                                        const buckets::Division& into);

/// Keys travel in rounds: while one is sorted the next is on its way. The first is short, and each
/// is so much longer than the one before that its way takes no longer than that one's sort.
inline constexpr index_t exchange_rounds = 5;
/// Of so many buckets of a rank, those of a round: 2, 3, 4, 5, 6 parts of 20.
[[nodiscard]] constexpr layout::Range round_of(index_t round, index_t count) {
  const auto before = [&](index_t r) { return count * ((r + 1) * (r + 2) / 2 - 1) / 20; };
  return {before(round), before(round + 1)};
}

}  // namespace tessera::dist::sort
