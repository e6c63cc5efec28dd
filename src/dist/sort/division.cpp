// Division of fine histogram bins among the ranks and their buckets; arithmetic.

#include "dist/sort/division.hpp"

#include <algorithm>

namespace tessera::inline v1::dist::sort {
namespace {

using buckets::fine_bins;
using tessera::sort::bit_length;

struct Bins {
  std::vector<index_t>
      begin;  ///< offsets of each fine bin's keys among those of all ranks, and their end

  [[nodiscard]] index_t at(index_t bin) const { return begin[static_cast<std::size_t>(bin)]; }
  /// Returns the edge with most nearly `keys` keys below it.
  [[nodiscard]] index_t nearest(index_t keys) const {
    const auto above = std::lower_bound(begin.begin(), begin.end(), keys);
    const index_t edge = above - begin.begin();
    return edge > 0 && keys - at(edge - 1) < at(edge) - keys ? edge - 1 : edge;
  }
};

Bins add_up(std::span<const index_t> fine, index_t ranks) {
  Bins bins;
  index_t sum = 0;
  for (std::size_t bin = 0; bin < fine_bins; ++bin) {
    bins.begin.push_back(sum);
    for (index_t r = 0; r < ranks; ++r)
      sum += fine[static_cast<std::size_t>(r) * (fine_bins + 1) + bin];
  }
  bins.begin.push_back(sum);
  return bins;
}

/// Assigns these fine bins to the buckets of a rank. Returns whether they are even.
bool fill_rank(const buckets::State& state, const Bins& bins, layout::Range mine, index_t rank,
               KeyDivision& division) {
  const int count = division.into.buckets;
  const index_t begin = bins.at(mine.begin), n = bins.at(mine.end) - begin;
  if (n == 0) return false;
  std::vector<layout::Range> of(static_cast<std::size_t>(count),
                                layout::Range{fine_bins, 0});  // bins with keys
  for (index_t bin = mine.begin; bin < mine.end; ++bin) {
    const int here = buckets::bucket_at(bins.at(bin) - begin, bins.at(bin + 1) - begin, n, count);
    division.bucket_of[static_cast<std::size_t>(bin)] =
        static_cast<std::uint16_t>(rank * count + here);
    if (bins.at(bin) == bins.at(bin + 1)) continue;
    layout::Range& range = of[static_cast<std::size_t>(here)];
    range = {std::min(range.begin, bin), bin + 1};
  }
  bool even = true;
  index_t before = 0;
  for (const layout::Range& range : of) {
    buckets::Bucket bucket{};
    bucket.begin = before;
    if (!range.empty())
      bucket = buckets::make_bucket(state, static_cast<int>(range.begin),
                                    static_cast<int>(range.end), before,
                                    bins.at(range.end) - bins.at(range.begin), division.into.subs);
    division.bucket.push_back(bucket);
    before += bucket.n;
    even = even && !buckets::uneven(bucket.n, n, count);
  }
  division.held.push_back(n);
  return even;
}

}  // namespace

buckets::State common_state(std::span<const buckets::State> all) {
  buckets::State common{};
  common.going = 1;
  common.known = 64;
  for (const buckets::State& one : all) {
    common.going = common.going != 0 && one.going != 0 ? 1 : 0;
    common.known = std::min(common.known, one.known);
  }
  if (common.going == 0) return {};
  const auto prefix = [&](const buckets::State& one) {
    return one.prefix >> (one.known - common.known);
  };
  int differ = 0;
  for (const buckets::State& one : all)
    differ = std::max(differ, bit_length(prefix(one) ^ prefix(all.front())));
  common.prefix = prefix(all.front()) >> differ;
  common.known -= differ;
  return common;
}

KeyDivision divide_evenly(const buckets::State& state, std::span<const index_t> fine,
                          const layout::BlockMap& shares, index_t tolerance,
                          const buckets::Division& into) {
  const index_t ranks = shares.parts();
  const Bins bins = add_up(fine, ranks);
  if (bins.at(fine_bins) != shares.extent()) return {};
  KeyDivision division{into, ranks, std::vector<std::uint16_t>(fine_bins), {}, {}, {}};
  for (index_t r = 0, first = 0; r < ranks; ++r) {
    const index_t wanted = shares.begin(r + 1),
                  end = r + 1 == ranks ? fine_bins : bins.nearest(wanted);
    const index_t off = std::abs(bins.at(end) - wanted);
    if (end <= first || off > tolerance || !fill_rank(state, bins, {first, end}, r, division))
      return {};
    first = end;
  }
  division.counts.resize(static_cast<std::size_t>(ranks * ranks * into.buckets));
  for (index_t r = 0; r < ranks; ++r) {
    const auto of_rank = fine.subspan(static_cast<std::size_t>(r) * (fine_bins + 1), fine_bins);
    index_t* const counts = division.counts.data() + r * ranks * into.buckets;
    for (std::size_t bin = 0; bin < fine_bins; ++bin)
      counts[division.bucket_of[bin]] += of_rank[bin];
  }
  return division;
}

}  // namespace tessera::inline v1::dist::sort
