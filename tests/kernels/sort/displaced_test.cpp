// Nearly sorted input: displaced keys are put back; other input is unchanged.

#include "kernels/sort/displaced.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "kernels/sort/common.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

using Keys = std::vector<std::uint64_t>;

Keys ramp(std::size_t n, std::uint64_t step = 3) {
  Keys keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = 1000 + step * i;
  return keys;
}

/// Sorts between sentinels, on one thread and on several.
void expect_sorted(const Keys& keys, const std::string& what) {
  Keys right = keys;
  std::sort(right.begin(), right.end());
  for (const int threads : {1, 3}) {
    Keys guarded(keys.size() + 2, 77);
    std::copy(keys.begin(), keys.end(), guarded.begin() + 1);
    bool done = false;
    machine::parallel(threads, [&] {
      done = put_back_displaced(
          Block<std::uint64_t>{guarded.data() + 1, nullptr, static_cast<index_t>(keys.size())});
    });
    ASSERT_TRUE(done) << what;
    EXPECT_EQ(guarded.front(), 77U) << what;
    EXPECT_EQ(guarded.back(), 77U) << what;
    EXPECT_TRUE(std::equal(right.begin(), right.end(), guarded.begin() + 1))
        << what << ", threads " << threads;
  }
}

void expect_left(const Keys& keys, const std::string& what) {
  Keys after = keys;
  EXPECT_FALSE(put_back_displaced(
      Block<std::uint64_t>{after.data(), nullptr, static_cast<index_t>(after.size())}))
      << what;
  EXPECT_EQ(after, keys) << what;
}

TEST(Displaced, ServesNothingAndFew) {
  expect_sorted({}, "none");
  expect_sorted({5}, "one");
  expect_sorted({5, 7}, "two");
  expect_left({7, 5}, "two, of which none may be out of place");
}

TEST(Displaced, PutsBackItemsAtTheEndsAndOneAfterTheOther) {
  constexpr std::size_t n = 3001;
  const auto with = [](std::initializer_list<std::pair<std::size_t, std::uint64_t>> changes) {
    Keys keys = ramp(n);
    for (const auto& [at, value] : changes) keys[at] = value;
    return keys;
  };
  expect_sorted(with({{0, 9999999}}), "the greatest first");
  expect_sorted(with({{n - 1, 0}}), "the least last");
  expect_sorted(with({{0, 9999999}, {n - 1, 0}}), "both");
  expect_sorted(with({{1, 0}}), "the least second");
  expect_sorted(with({{700, 0}, {701, 0}, {702, 1}}), "a few low ones");
  expect_sorted(with({{700, 8000000}, {701, 8000000}, {702, 8000001}}), "a few high ones");
  expect_sorted(with({{700, 8000000}, {701, 0}, {702, 8000001}, {703, 0}}), "by turns");
  expect_sorted(with({{700, 1000}, {701, 1000}}), "equal to the first");
}

TEST(Displaced, ServesRandomExchangesInsertionsAndBlocks) {
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = 2000 + below(3000), few = 1 + below(n / 260);
    Keys keys = ramp(n, below(2) == 0 ? 3 : 0);
    if (round % 3 != 2) {
      for (std::size_t i = 0; i < few; ++i) {
        if (round % 3 == 0)
          std::swap(keys[below(n)], keys[below(n)]);
        else
          keys[below(n)] = below(5 * n);
      }
    } else {  // a block moves
      const std::size_t from = below(n - few), to = below(n - few);
      const Keys block(keys.begin() + static_cast<index_t>(from),
                       keys.begin() + static_cast<index_t>(from + few));
      keys.erase(keys.begin() + static_cast<index_t>(from),
                 keys.begin() + static_cast<index_t>(from + few));
      keys.insert(keys.begin() + static_cast<index_t>(to), block.begin(), block.end());
    }
    expect_sorted(keys, "round " + std::to_string(round));
  }
}

/// More keys than are examined before the first runs are merged.
TEST(Displaced, GoesOnFromOneLookToTheNext) {
  Keys keys = ramp(700000);
  for (const std::size_t at :
       std::initializer_list<std::size_t>{262142, 262143, 262144, 262145, 524287, 524288, 699998})
    std::swap(keys[at], keys[at + 1]);
  std::swap(keys[5], keys[600000]);
  expect_sorted(keys, "700000 keys");
  std::reverse(keys.begin() + 300000, keys.begin() + 400000);
  expect_left(keys, "a part of it reversed");
}

TEST(Displaced, KeepsPairsStable) {
  std::vector<Pair> pairs;
  for (std::uint64_t i = 0; i < 5000; ++i) pairs.push_back({i / 50, i});
  std::swap(pairs[100].key, pairs[4000].key);
  std::swap(pairs[2222].key, pairs[2223].key);
  auto right = pairs;
  std::stable_sort(right.begin(), right.end(),
                   [](const Pair& a, const Pair& b) { return a.key < b.key; });
  ASSERT_TRUE(put_back_displaced(Block<Pair>{pairs.data(), nullptr, 5000}));
  EXPECT_EQ(pairs, right);
}

TEST(Displaced, GoesByTheMapOfRawKeys) {
  std::vector<double> keys;
  for (int i = 0; i < 6000; ++i) keys.push_back(3000.5 - i);
  keys.insert(keys.begin() + 3001, {0.0, -0.0});
  keys.push_back(std::numeric_limits<double>::quiet_NaN());
  std::vector<std::uint64_t> want;
  for (const double key : keys) want.push_back(std::bit_cast<std::uint64_t>(key));
  auto bits = want;
  std::swap(bits[10], bits[4000]);
  std::swap(bits[3001], bits[3002]);
  std::swap(bits[5000], bits.back());
  const auto map = key_map<double>(Order::descending);
  EXPECT_TRUE(
      in_order(Block<std::uint64_t>{want.data(), nullptr, static_cast<index_t>(want.size()), map}));
  const Block<std::uint64_t> block{bits.data(), nullptr, static_cast<index_t>(bits.size()), map};
  EXPECT_FALSE(in_order(block));
  ASSERT_TRUE(put_back_displaced(block));
  EXPECT_EQ(bits, want);
}

/// Expects that order is recognised for keys and pairs, in either order, with a fault at the ends,
/// in the middle, or none.
template <class T>
void expect_order_is_seen(std::vector<T> keys, Order order, const std::string& what) {
  using B = tessera::sort::Bits<T>;
  const auto n = static_cast<index_t>(keys.size());
  const auto map = key_map<T>(Order::ascending);
  std::vector<Pair> pairs(keys.size());
  const Block<B> block{reinterpret_cast<B*>(keys.data()), nullptr, n, map};
  const Block<Pair> paired{pairs.data(), nullptr, n};
  for (std::size_t i = 0; i < pairs.size(); ++i)
    pairs[i] = {5 + i / 700, order == Order::ascending ? i : keys.size() - i};
  if (order == Order::descending)
    for (Pair& pair : pairs) pair.key = 1000000 - pair.key;
  for (const int threads : {1, 3}) {
    machine::parallel(
        threads, [&] { EXPECT_TRUE(in_order(block, order) && in_order(paired, order)) << what; });
    for (const std::size_t at :
         std::initializer_list<std::size_t>{std::size_t{1}, keys.size() / 2, keys.size() - 1}) {
      if (at == 0) continue;
      std::swap(keys[at], keys[at - 1]);
      std::swap(pairs[at], pairs[at - 1]);
      machine::parallel(threads, [&] {
        EXPECT_FALSE(in_order(block, order) || in_order(paired, order))
            << what << " of " << n << " " << at;
      });
      std::swap(keys[at], keys[at - 1]);
      std::swap(pairs[at], pairs[at - 1]);
    }
  }
}

/// For the last number of keys, one task ends and the next begins in the middle.
TEST(Displaced, OrderIsSeenAtEveryPlace) {
  for (const std::size_t n : std::initializer_list<std::size_t>{
           2, 3, 9, 17, 63, 64, 65, 66, 129, 511, 512, 513, 514, 5000, 16 * task_grain}) {
    Keys up = ramp(n);
    std::vector<float> numbers(n);  // of both signs
    for (std::size_t i = 0; i < n; ++i)
      numbers[i] = static_cast<float>(i) - static_cast<float>(n / 3);
    expect_order_is_seen(up, Order::ascending, "keys");
    expect_order_is_seen(numbers, Order::ascending, "numbers");
    std::reverse(up.begin(), up.end());
    std::reverse(numbers.begin(), numbers.end());
    expect_order_is_seen(up, Order::descending, "keys downwards");
    expect_order_is_seen(numbers, Order::descending, "numbers downwards");
  }
}

/// Keys of both signs and types that exceed one cache line and one block of the check, starting on
/// a line's border or not.
template <class B>
void expect_every_fault_is_seen(const KeyMap<B>& map, std::size_t n) {
  constexpr std::size_t from = 17;
  std::vector<B> keys(n + from);
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = map.to_raw(static_cast<B>(~B{0} / 2 - 900 + i / 2));
  for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, from}) {
    const Block<B> block{keys.data() + begin, nullptr, static_cast<index_t>(n), map};
    ASSERT_TRUE(in_order(block));
    for (std::size_t i = begin + 2; i < begin + n; i += 2) {
      const std::size_t at = i / 2 * 2;  // where the number increases
      std::swap(keys[at], keys[at - 1]);
      ASSERT_FALSE(in_order(block)) << sizeof(B) << " " << begin << " " << at;
      std::swap(keys[at], keys[at - 1]);
    }
  }
}
TEST(Displaced, EveryFaultIsSeen) {
  for (const Order order : {Order::ascending, Order::descending}) {
    expect_every_fault_is_seen(key_map<std::uint64_t>(order), 1800);
    expect_every_fault_is_seen(key_map<double>(order), 1800);
    expect_every_fault_is_seen(key_map<std::uint32_t>(order), 3000);
    expect_every_fault_is_seen(key_map<float>(order), 3000);
  }
}

/// Faults of keys or of indices, starting on a line's border or not.
TEST(Displaced, EveryFaultAmongPairsIsSeen) {
  std::vector<Pair> pairs(1100);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {i / 3, i};
  for (const Order order : {Order::ascending, Order::descending}) {
    for (const std::size_t begin : {0U, 1U, 2U, 5U}) {
      const Block<Pair> block{pairs.data() + begin, nullptr,
                              static_cast<index_t>(pairs.size() - begin)};
      ASSERT_TRUE(in_order(block, order));
      for (std::size_t at = begin + 1; at < pairs.size(); ++at) {
        std::swap(pairs[at], pairs[at - 1]);
        ASSERT_FALSE(in_order(block, order)) << begin << " " << at;
        std::swap(pairs[at], pairs[at - 1]);
      }
    }
    std::reverse(pairs.begin(), pairs.end());
  }
}

TEST(Displaced, EqualKeysAreInEitherOrderAndOneOtherIsSeen) {
  for (const std::size_t n : std::initializer_list<std::size_t>{2, 64, 65, 1000, 5000}) {
    Keys keys(n, 7);
    const Block<std::uint64_t> block{keys.data(), nullptr, static_cast<index_t>(n)};
    EXPECT_TRUE(in_order(block) && in_order(block, Order::descending));
    for (std::size_t at = 1; at + 1 < n; at += 13) {
      keys[at] = 8;
      EXPECT_FALSE(in_order(block) || in_order(block, Order::descending)) << n << " " << at;
      keys[at] = 7;
    }
  }
}

TEST(Displaced, LeavesWhatIsNotNearlySorted) {
  std::mt19937_64 random(3);
  Keys keys = ramp(5000);
  std::shuffle(keys.begin(), keys.end(), random);
  expect_left(keys, "shuffled");
  keys = ramp(5000);
  std::rotate(keys.begin(), keys.begin() + 2500, keys.end());
  expect_left(keys, "two halves exchanged");
}

}  // namespace
}  // namespace tessera::sort
