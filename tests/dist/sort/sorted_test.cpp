// Searches and groups of sorted keys on uneven shares, against the standard library's on one rank.

#include "dist/sort/sorted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/random.hpp"
#include "everywhere.hpp"

namespace tessera::dist::sort {
namespace {

/// Returns whether a is before b as numbers, NaN last.
template <class T>
bool precedes(T a, T b, Order order) {
  if (a != a || b != b) return a == a && b != b;
  return tessera::sort::is_descending(order) ? b < a : a < b;
}

template <class T>
std::vector<T> made_keys(index_t n, index_t distinct, std::uint64_t seed) {
  std::vector<T> keys;
  for (index_t i = 0; i < n; ++i) {
    const auto key =
        static_cast<index_t>(random_bits(seed, 1, i) % static_cast<unsigned>(distinct));
    keys.push_back(static_cast<T>(key - distinct / 2));
    if constexpr (std::is_floating_point_v<T>) {
      if (key % 11 == 3) keys.back() = std::numeric_limits<T>::quiet_NaN();
      if (key % 11 == 4) keys.back() = -keys.back() * 0;  // -0 and 0
      if (key % 11 == 5) keys.back() = std::numeric_limits<T>::infinity();
    }
  }
  return keys;
}

/// How the keys are dealt out: even shares, with ranks that have none, or all on one rank.
enum class Cut { even, with_gaps, on_last };

layout::Range share(index_t n, Cut cut, const mpi::Communicator& comm) {
  const int p = comm.size(), r = comm.rank();
  if (cut == Cut::even) return layout::BlockMap(n, p).range(r);
  if (cut == Cut::on_last) return r + 1 == p ? layout::Range{0, n} : layout::Range{0, 0};
  const auto border = [&](int rank) {  // even ranks but the first get nothing, if there are others
    const int sharing = p / 2 + 1;
    const auto of = layout::BlockMap(n, sharing);
    const int index = rank == 0 ? 0 : (rank + 1) / 2;
    return rank >= p ? n : index >= sharing ? n : of.range(index).begin;
  };
  return {border(r), border(r + 1)};
}

template <class T>
class Sorted : public testing::Test {
 public:
  using Words = std::vector<T>;
  mpi::Communicator comm = mpi::Communicator::world();

  /// Calls f(all keys, this rank's range, order) for keys of any shape.
  template <class F>
  void for_all(const F& f) {
    for (const Order order : {Order::ascending, Order::descending}) {
      for (const index_t n : {0, 1, 5, 997, 200003}) {
        for (const index_t distinct : {1, 3, 40, 100000}) {
          if (n == 200003 && distinct == 40) continue;
          Words all = made_keys<T>(n, distinct, 7 + static_cast<std::uint64_t>(n));
          std::stable_sort(all.begin(), all.end(), [&](T a, T b) { return precedes(a, b, order); });
          for (const Cut cut : {Cut::even, Cut::with_gaps, Cut::on_last})
            f(all, share(n, cut, comm), order);
        }
      }
    }
  }
  static std::span<const T> part(const Words& all, layout::Range range) {
    return std::span(all).subspan(static_cast<std::size_t>(range.begin),
                                  static_cast<std::size_t>(range.size()));
  }
};
using KeyTypes =
    testing::Types<std::int32_t, std::uint64_t, float, double, long long, short, unsigned char>;
TYPED_TEST_SUITE(Sorted, KeyTypes);

TYPED_TEST(Sorted, PositionsAreThoseOfOneRank) {
  using T = TypeParam;
  this->for_all([&](const std::vector<T>& all, layout::Range mine, Order order) {
    // another number of values on each rank, none on the second
    const index_t count = this->comm.rank() == 1 ? 0 : 50 + this->comm.rank();
    std::vector<T> values = made_keys<T>(count, 50, 99 + static_cast<std::uint64_t>(mine.begin));
    if (!all.empty()) values.push_back(all[all.size() / 2]);
    for (const SearchSide side : {SearchSide::left, SearchSide::right}) {
      const auto found =
          searchsorted(this->comm, this->part(all, mine), std::span<const T>(values), side, order);
      ASSERT_EQ(found.size(), values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto less = [&](T a, T b) { return precedes(a, b, order); };
        const auto at = side == SearchSide::left
                            ? std::lower_bound(all.begin(), all.end(), values[i], less)
                            : std::upper_bound(all.begin(), all.end(), values[i], less);
        ASSERT_EQ(found[i], at - all.begin()) << values[i];
      }
    }
  });
}

TYPED_TEST(Sorted, GroupsAndDistinctKeysAreThoseOfOneRank) {
  using T = TypeParam;
  this->for_all([&](const std::vector<T>& all, layout::Range mine, Order order) {
    std::vector<index_t> want;  // all begins, and the end
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i == 0 || precedes(all[i - 1], all[i], order)) want.push_back(static_cast<index_t>(i));
    const auto first = std::lower_bound(want.begin(), want.end(), mine.begin);
    const auto last = std::lower_bound(first, want.end(), mine.end);
    const auto end = last == want.end() ? static_cast<index_t>(all.size()) : *last;
    const auto sorted = this->part(all, mine);
    for (const int threads : {1, 3}) {
      const Groups groups = group_boundaries(this->comm, sorted, order, threads);
      EXPECT_EQ(groups.begins, std::vector<index_t>(first, last));
      EXPECT_EQ(groups.end, end);
    }
    const Distinct<T> found = unique(this->comm, sorted, order);
    ASSERT_EQ(found.keys.size(), static_cast<std::size_t>(last - first));
    for (auto at = first; at != last; ++at) {
      const auto k = static_cast<std::size_t>(at - first);
      const T want_key = all[static_cast<std::size_t>(*at)];
      EXPECT_TRUE(found.keys[k] == want_key || (want_key != want_key && std::isnan(found.keys[k])));
      EXPECT_EQ(found.counts[k], (at + 1 == last ? end : at[1]) - *at);
    }
  });
}

/// The type of keys follows from vectors and spans, const or not.
TEST(SortedKeys, AreDeduced) {
  const auto comm = mpi::Communicator::world();
  std::vector<long long> keys{2 * comm.rank(), 2 * comm.rank()};
  EXPECT_EQ(searchsorted(comm, keys, std::span(keys)).front(), 2 * comm.rank());
  EXPECT_EQ(group_boundaries(comm, std::span(keys)).begins.size(), 1U);
  const Distinct<long long> found = unique(comm, keys);
  EXPECT_EQ(found.keys, std::vector<long long>{2 * comm.rank()});
}

TEST(SortedKeys, OutOfOrderAreRefusedByAllRanks) {
  const auto comm = mpi::Communicator::world();
  std::vector<double> keys{1, 2, 3};
  if (comm.rank() + 1 == comm.size()) keys = {0, -1};
  const auto expect_refusal = [&](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "was not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_EQ(error.argument(), "sorted");
    }
  };
  const std::span<const double> sorted(keys);
  expect_refusal([&] { [[maybe_unused]] const auto x = group_boundaries(comm, sorted); });
  expect_refusal([&] { [[maybe_unused]] const auto x = unique(comm, sorted); });
  if (comm.size() > 1)
    expect_refusal([&] { [[maybe_unused]] const auto x = searchsorted(comm, sorted, sorted); });
}

}  // namespace
}  // namespace tessera::dist::sort
