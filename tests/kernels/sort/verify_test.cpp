#include "kernels/sort/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

#include "base/hash.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/keys.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

TYPED_TEST_SUITE(Keys, KeyTypes);

/// Returns the hash of one key by definition.
std::uint64_t hash_of(std::uint64_t key, std::uint64_t seed) {
  const std::uint64_t mixed = (key ^ (key >> 32) ^ mix64(seed)) * (mix64(~seed) | 1);
  const std::uint64_t high = mixed >> 32;
  return ((mixed ^ high) & 0xffffffff) * high;
}
std::uint64_t hash_of(std::uint32_t key, std::uint64_t seed) {
  const auto flip = static_cast<std::uint32_t>(mix64(seed));
  const std::uint32_t mixed =
      (key ^ (key >> 16) ^ flip) * (static_cast<std::uint32_t>(mix64(~seed)) | 1);
  const std::uint64_t word = mixed ^ (mixed >> 16);
  return word * word;
}

TYPED_TEST(Keys, InspectionIsHashAndOrderOfEveryKey) {
  using T = TypeParam;
  auto keys = make<T>("uniform", 70003);
  for (const T key : specials<T>()) keys.push_back(key);
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto map = key_map<T>(order);
    const auto bits = [&](T key) { return map.to_bits(std::bit_cast<Bits<T>>(key)); };
    std::sort(keys.begin(), keys.end(), [&](T a, T b) { return bits(a) < bits(b); });
    for (const std::size_t from : {0U, 1U, 5U, 17U}) {
      for (const std::size_t n : {0U, 1U, 2U, 9U, 63U, 69000U}) {
        const auto some = std::span<T>(keys).subspan(from, n);
        const Inspection seen = inspect(std::span<const T>(some), order, 5);
        EXPECT_TRUE(seen.sorted) << "from " << from << " n " << n;
        std::uint64_t hash = 0;
        for (const T key : some) hash += hash_of(std::bit_cast<Bits<T>>(key), 5);
        EXPECT_EQ(seen.content, (Content{static_cast<index_t>(n), hash}));
        EXPECT_EQ(content(std::span<const T>(some), 5), seen.content);
        if (n < 2 || bits(some.front()) == bits(some.back())) continue;
        for (const std::size_t at : {n - 2, n / 2}) {  // one pair of neighbours
          if (at + 1 >= n || bits(some[at]) == bits(some[at + 1])) continue;
          std::swap(some[at], some[at + 1]);
          EXPECT_FALSE(inspect(std::span<const T>(some), order, 5).sorted)
              << "n " << n << " at " << at;
          std::swap(some[at], some[at + 1]);
        }
      }
    }
  }
}

TYPED_TEST(Keys, VerificationSeesOrderAndContent) {
  auto keys = make<TypeParam>("uniform", 100003);
  const Content before = content<TypeParam>(keys, 1);
  EXPECT_EQ(before.count, 100003);
  EXPECT_FALSE(is_sorted<TypeParam>(keys));
  std::vector<TypeParam> scratch(keys.size());
  sort_keys<TypeParam>("auto", keys, scratch);
  EXPECT_TRUE(is_sorted<TypeParam>(keys));
  EXPECT_EQ(content<TypeParam>(keys, 1), before);
  std::swap(keys[77777], keys[77778]);
  EXPECT_FALSE(is_sorted<TypeParam>(keys));
  EXPECT_EQ(content<TypeParam>(keys, 1), before);
  keys[5] = keys[6];
  EXPECT_NE(content<TypeParam>(keys, 1), before);
}

TYPED_TEST(Keys, InspectionSeesOrderBetweenTasks) {
  using T = TypeParam;
  constexpr std::size_t n = 16 * task_grain;  // of two tasks
  auto keys = make<T>("sorted", n);
  const auto sorted = [&] { return inspect(std::span<const T>(keys), Order::ascending, 5).sorted; };
  EXPECT_TRUE(sorted());
  keys[n / 2] = keys[0];
  EXPECT_FALSE(sorted());
}

TYPED_TEST(Keys, HashSeesKeysOfOneSum) {
  using T = TypeParam;
  using B = Bits<T>;
  const auto key = [](std::uint64_t number, int shift) {
    return std::bit_cast<T>(static_cast<B>(static_cast<B>(number) << shift));
  };
  constexpr int width = 8 * sizeof(B);
  for (std::uint64_t s = 0; s < 1000; ++s) {
    for (const int shift : {0, width / 2 - 2, width - 11}) {
      const auto hash = [&](std::vector<T> keys) {
        return content(std::span<const T>(keys), s).hash;
      };
      EXPECT_NE(hash({key(1, shift), key(4, shift)}), hash({key(2, shift), key(3, shift)}));
      EXPECT_NE(hash({key(0, shift), key(4, shift), key(5, shift)}),  // with equal sums of squares,
                                                                      // too
                hash({key(1, shift), key(2, shift), key(6, shift)}));
      EXPECT_NE(hash({key(1025, shift), key(2, shift)}), hash({key(1, shift), key(1026, shift)}));
    }
  }
}

TYPED_TEST(Keys, WatchSeesWhatInspectionSees) {
  using T = TypeParam;
  auto keys = make<T>("gaussian", 300007);
  std::vector<T> scratch(keys.size());
  const Content before = content<T>(keys, 3);
  Watch<T> watch(keys, Order::descending, 3);
  index_t told = 0;
  std::mutex mutex;
  machine::parallel(2, [&] {
    sort_keys<T>("radix", keys, scratch, Order::descending, {}, [&](const void* first, index_t n) {
      watch.saw(first, n);
      const std::lock_guard lock(mutex);
      told += n;
    });
  });
  EXPECT_GT(told, 250000);
  const Inspection seen = watch.conclude();
  EXPECT_TRUE(seen.sorted);
  EXPECT_EQ(seen.content, before);
}

TYPED_TEST(Keys, WatchFindsKeysInOrderAndNoOthers) {
  using T = TypeParam;
  for (const index_t n :
       {index_t{0}, index_t{1}, index_t{100001}, (index_t{17} << 20) / index_t{sizeof(T)}}) {
    auto keys = make<T>("sorted", n);
    const std::span<const T> view(keys);
    Watch<T> watch(view, Order::ascending, 3);
    EXPECT_TRUE(watch.finds_order(2));
    const Inspection seen = watch.conclude();
    EXPECT_TRUE(seen.sorted);
    EXPECT_EQ(seen.content, content(view, 3));
    if (n < 3) continue;
    for (const index_t at : {index_t{1}, n / 2, n - 1}) {
      auto some = keys;
      some[static_cast<std::size_t>(at)] = some[0];
      if (at == 1) std::swap(some[0], some[2]);
      Watch<T> other(some, Order::ascending, 3);
      EXPECT_FALSE(other.finds_order(2)) << at;
      EXPECT_FALSE(other.conclude().sorted);
    }
  }
}

TYPED_TEST(Keys, WatchIsToldOfReversedKeys) {
  using T = TypeParam;
  for (const index_t n : {index_t{2}, index_t{300007}}) {
    auto keys = make<T>("reverse", n);
    const Content before = content<T>(keys, 3);
    Watch<T> watch(keys, Order::ascending, 3);
    index_t told = 0;
    EXPECT_TRUE(sort_ordered<T>(keys, 1, Order::ascending, [&](const void* first, index_t some) {
      watch.saw(first, some);
      told += some;
    }));
    EXPECT_EQ(told, n / 2 * 2);
    const Inspection seen = watch.conclude();
    EXPECT_TRUE(seen.sorted);
    EXPECT_EQ(seen.content, before);
  }
}

TYPED_TEST(Keys, WatchMindsBordersGapsAndOverlaps) {
  using T = TypeParam;
  auto keys = make<T>("sorted", 10000);
  const auto look = [&](std::vector<std::pair<index_t, index_t>> parts,
                        const std::function<void()>& then) {
    Watch<T> watch(keys, Order::ascending, 3);
    for (const auto& [begin, end] : parts) watch.saw(keys.data() + begin, end - begin);
    then();
    const Inspection seen = watch.conclude();
    EXPECT_EQ(seen.content.count, 10000);
    return seen;
  };
  const Inspection whole = inspect(std::span<const T>(keys), Order::ascending, 3);
  EXPECT_TRUE(whole.sorted);
  using Parts = std::vector<std::pair<index_t, index_t>>;
  for (const Parts& parts :
       {Parts{}, Parts{{0, 10000}}, Parts{{5000, 10000}, {0, 5000}}, Parts{{20, 30}, {4000, 9000}},
        Parts{{0, 6000}, {5000, 10000}}, Parts{{0, 10000}, {0, 10000}}}) {
    const Inspection seen = look(parts, [] {});
    EXPECT_TRUE(seen.sorted);
    EXPECT_EQ(seen.content, whole.content);
  }
  const auto spoil_end = [&] { keys[4999] = keys[0]; };  // unnoticed by the watch
  const auto spoil_begin = [&] { keys[5000] = keys[9999]; };
  for (const std::function<void()>& spoil :
       {std::function<void()>(spoil_end), std::function<void()>(spoil_begin)}) {
    const Inspection spoilt = look({{0, 5000}, {5000, 10000}}, spoil);
    EXPECT_FALSE(spoilt.sorted);
    EXPECT_NE(spoilt.content, whole.content);
    keys = make<T>("sorted", 10000);
  }
  std::swap_ranges(keys.begin(), keys.begin() + 5000, keys.begin() + 5000);
  EXPECT_FALSE(look({{0, 5000}, {5000, 10000}}, [] {}).sorted);
  EXPECT_FALSE(look({{5000, 10000}}, [] {}).sorted);
}

}  // namespace
}  // namespace tessera::sort
