// Division of keys into the buckets of the ranks' sort: plans from counts.

#include "dist/sort/division.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.hpp"

namespace tessera::dist::sort {
namespace {

using buckets::fine_bins;
using buckets::State;
using layout::BlockMap;
using layout::Range;

TEST(DivisionOf, MakesPartsThatABlockSortsOfAsManyKeysAsOneDeviceHolds) {
  for (const int ranks : {1, 2, 3, 4, 7, 8, 16}) {
    for (index_t n = index_t{1} << 24; n <= (index_t{1} << 31) / ranks + 54321; n += n / 7) {
      const auto into = buckets::division_of(n, ranks);
      EXPECT_LE(into.buckets * ranks, buckets::most_buckets) << n;
      EXPECT_LE(into.subs, buckets::most_buckets) << n;
      EXPECT_LE(n / (index_t{into.buckets} * into.subs), buckets::usual_keys) << n << ' ' << ranks;
      EXPECT_GE(n / (index_t{into.buckets} * into.subs), buckets::usual_keys / 4)
          << n << ' ' << ranks;
    }
  }
}

TEST(RoundOf, CutsAnyBucketsIntoRoundsThatGrow) {
  for (const index_t count : {16, 64, 96, 256, 768}) {
    index_t end = 0;
    for (index_t q = 0; q < exchange_rounds; ++q) {
      const Range range = round_of(q, count);
      EXPECT_EQ(range.begin, end);
      EXPECT_NEAR(static_cast<double>(range.size()), static_cast<double>(count * (q + 2)) / 20, 1);
      end = range.end;
    }
    EXPECT_EQ(end, count);
  }
}

State state_of(int known, std::uint64_t prefix, unsigned going = 1) {
  State state{};
  state.known = known;
  state.prefix = prefix;
  state.going = going;
  return state;
}

TEST(CommonState, KeepsTheBitsThatTheKeysOfAllRanksAgreeIn) {
  const auto common = [](const std::vector<State>& all) {
    const State state = common_state(all);
    return std::tuple(state.going, state.known, state.prefix);
  };
  EXPECT_EQ(common({state_of(3, 5), state_of(3, 5)}), std::tuple(1U, 3, 5U));
  EXPECT_EQ(common({state_of(3, 5), state_of(3, 4)}), std::tuple(1U, 2, 2U));
  EXPECT_EQ(common({state_of(1, 0), state_of(1, 1)}), std::tuple(1U, 0, 0U));
  EXPECT_EQ(common({state_of(4, 0b1011), state_of(2, 0b10), state_of(0, 0)}),
            std::tuple(1U, 0, 0U));
  EXPECT_EQ(common({state_of(4, 0b1011), state_of(2, 0b10)}), std::tuple(1U, 2, 2U));
  EXPECT_EQ(std::get<0>(common({state_of(3, 5), state_of(64, 0, 0)})), 0U);
}

/// Returns by (rank, fine bin) about `keys` keys in each bin of [first, end).
std::vector<index_t> counts_of(index_t ranks, index_t keys, index_t first, index_t end) {
  std::vector<index_t> fine(static_cast<std::size_t>(ranks * (fine_bins + 1)), 0);
  for (index_t r = 0; r < ranks; ++r) {
    for (index_t bin = first; bin < end; ++bin)
      fine[static_cast<std::size_t>(r * (fine_bins + 1) + bin)] =
          keys + static_cast<index_t>(random_bits(1, static_cast<std::uint64_t>(r), bin) % 64);
  }
  return fine;
}

TEST(DivideEvenly, GivesEveryRankItsShareInBucketsOfAboutAsManyKeys) {
  for (const index_t ranks : {2, 3, 4, 8}) {
    for (const Range bins : {Range{0, 2048}, Range{513, 1600}}) {
      const auto fine = counts_of(ranks, 50000, bins.begin, bins.end);
      const index_t total = std::accumulate(fine.begin(), fine.end(), index_t{0});
      const BlockMap shares(total, ranks);
      const index_t tolerance = total / (fine_bins / 2);
      const auto into = buckets::division_of(total / ranks, static_cast<int>(ranks));
      const KeyDivision division = divide_evenly(state_of(0, 0), fine, shares, tolerance, into);
      ASSERT_EQ(division.ranks, ranks);
      index_t before = 0;
      for (index_t r = 0; r < ranks; ++r) {
        EXPECT_LE(std::abs(before - shares.begin(r)), tolerance);
        index_t held = 0;
        for (index_t b = r * into.buckets; b < (r + 1) * into.buckets; ++b) {
          const buckets::Bucket& bucket = division.at(b);
          index_t of_all = 0;
          for (index_t from = 0; from < ranks; ++from) of_all += division.of(from, b);
          EXPECT_EQ(bucket.begin, held);
          EXPECT_EQ(bucket.n, of_all);
          EXPECT_LE(bucket.n, 3 * total / (ranks * into.buckets));
          held += bucket.n;
        }
        EXPECT_EQ(division.held[static_cast<std::size_t>(r)], held);
        before += held;
      }
      EXPECT_EQ(before, total);
    }
  }
}

/// Every fine bin's keys are in its bucket's range, and in one of its sub-buckets.
TEST(DivideEvenly, MakesRangesThatHoldTheKeysOfTheirBins) {
  for (const int known : {0, 1, 17, 31}) {
    const auto fine = counts_of(2, 1000, 5, 2000);
    const index_t total = std::accumulate(fine.begin(), fine.end(), index_t{0});
    const State state = state_of(known, known == 0 ? 0 : (std::uint64_t{1} << known) - 1);
    const KeyDivision division =
        divide_evenly(state, fine, BlockMap(total, 2), total / 1024, {48, 100});
    ASSERT_EQ(division.ranks, 2);
    const int rest = 64 - buckets::fine_bits - known;
    const std::uint64_t base = known == 0 ? 0 : state.prefix << (64 - known);
    std::uint64_t last = 0;
    for (std::uint64_t bin = 5; bin < 2000; ++bin) {
      const int b = division.bucket_of[bin];
      for (const std::uint64_t at : {std::uint64_t{0}, (std::uint64_t{1} << rest) - 1}) {
        const std::uint64_t bits = base + (bin << rest) + at;
        EXPECT_EQ(buckets::fine_bin(bits, known), bin);
        ASSERT_GE(bits, division.at(b).low);
        const std::uint64_t place =
            (static_cast<std::uint64_t>(b) << 48) + buckets::place_in(division.at(b), bits);
        EXPECT_LT(place >> 32 & 0xffff, 100U);
        EXPECT_GE(place, last);  // order is preserved
        last = place;
      }
    }
  }
}

TEST(DivideEvenly, RefusesWhatIsNotEven) {
  const auto refused = [](const std::vector<index_t>& fine, index_t tolerance) {
    index_t total = 0;
    for (const index_t keys : fine) total += keys;
    return divide_evenly(state_of(0, 0), fine, BlockMap(total, 2), tolerance, {64, 64}).ranks == 0;
  };
  const auto even = counts_of(2, 1000, 0, 2048);
  EXPECT_FALSE(refused(even, 2000));
  auto fine = even;
  fine[100] = 200000;  // an overfull bin
  EXPECT_TRUE(refused(fine, 2000));
  fine = even;
  fine[fine_bins] = 1;  // a key with other leading bits
  EXPECT_TRUE(refused(fine, 2000));
  fine = even;
  fine[1024] += 10000;  // across the border
  EXPECT_TRUE(refused(fine, 2000));
  EXPECT_FALSE(refused(fine, 20000));
  EXPECT_TRUE(refused(std::vector<index_t>(2 * (fine_bins + 1), 0), 0));
}

}  // namespace
}  // namespace tessera::dist::sort
