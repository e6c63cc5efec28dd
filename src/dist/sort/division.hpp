#pragma once
// Division of the ranks' keys into the buckets of their sort: arithmetic on histograms of all
// ranks, the same on every rank, tested without a device.

#include <span>
#include <vector>

#include "kernels/sort/buckets.hpp"
#include "layout/block_map.hpp"

namespace tessera::inline v1::dist::sort {

namespace buckets = tessera::sort::buckets;

/// The division; rank r has the buckets [r * into.buckets, (r + 1) * into.buckets) of all.
struct KeyDivision {
  buckets::Division into{};  ///< of a rank
  index_t ranks = 0;
  std::vector<std::uint16_t> bucket_of;  ///< of each fine bin
  std::vector<buckets::Bucket>
      bucket;                   ///< range of each one's keys of all ranks, among those of its rank
  std::vector<index_t> counts;  ///< (rank, bucket): number of keys before the exchange
  std::vector<index_t> held;    ///< by each rank after the exchange

  /// Returns the number of keys in bucket b on rank `from`.
  [[nodiscard]] index_t of(index_t from, index_t b) const {
    return counts[static_cast<std::size_t>(from * ranks * into.buckets + b)];
  }
  [[nodiscard]] const buckets::Bucket& at(index_t b) const {
    return bucket[static_cast<std::size_t>(b)];
  }
};

/// Returns the combined state of the ranks' samples: no rank continues if one does not, or if keys
/// agree in too many bits.
[[nodiscard]] buckets::State common_state(std::span<const buckets::State> all);

/// Divides the keys. fine: (rank, fine_bins + 1), the counts of keys. Returns an empty division
/// (ranks = 0) if keys are too uneven, begin with other bits than the state's, or if a share would
/// be off by more than `tolerance` keys.
[[nodiscard]] KeyDivision divide_evenly(const buckets::State& state, std::span<const index_t> fine,
                                        const layout::BlockMap& shares, index_t tolerance,
                                        const buckets::Division& into);

/// Number of exchange rounds: the next round is in flight while one is sorted. The first is short;
/// each is longer than the previous one, but its transfer takes no longer than that one's sort.
inline constexpr index_t exchange_rounds = 5;
/// Returns the buckets of a round, of `count` buckets of a rank: 2, 3, 4, 5, 6 parts of 20.
[[nodiscard]] constexpr layout::Range round_of(index_t round, index_t count) {
  const auto before = [&](index_t r) { return count * ((r + 1) * (r + 2) / 2 - 1) / 20; };
  return {before(round), before(round + 1)};
}

}  // namespace tessera::inline v1::dist::sort
