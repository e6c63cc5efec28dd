#include "kernels/sort/few_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

constexpr std::uint64_t seed = 11;

/// Returns n keys of `values` distinct values, anywhere in the range.
template <class B>
std::vector<B> keys_of(index_t n, index_t values) {
  std::vector<B> keys;
  for (index_t i = 0; i < n; ++i) {
    const auto value =
        static_cast<index_t>(random_bits(seed, 0, i) % static_cast<std::uint64_t>(values));
    keys.push_back(static_cast<B>(random_bits(seed, 1, value)));
  }
  return keys;
}

template <class B>
struct FewValues : testing::Test {};
using Types = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(FewValues, Types);

TYPED_TEST(FewValues, AreCountedInBothOrders) {
  for (const index_t values : {1, 2, 300, 4000}) {
    for (const Order order : {Order::ascending, Order::descending}) {
      for (const int threads : {1, 3}) {
        auto keys = keys_of<TypeParam>(300007, values), want = keys;
        const auto map = key_map<TypeParam>(order);
        std::sort(want.begin(), want.end(),
                  [&](TypeParam a, TypeParam b) { return map.to_bits(a) < map.to_bits(b); });
        bool done = false;
        machine::parallel(threads, [&] {
          done = sort_few_values(
              Block<TypeParam>{keys.data(), nullptr, static_cast<index_t>(keys.size()), map});
        });
        EXPECT_TRUE(done && keys == want) << values << " values, " << threads << " threads";
      }
    }
  }
}

TYPED_TEST(FewValues, OthersAreLeftAsTheyAre) {
  auto keys = keys_of<TypeParam>(100000, 9000);
  const auto before = keys;
  EXPECT_FALSE(sort_few_values(
      Block<TypeParam>{keys.data(), nullptr, static_cast<index_t>(keys.size()), {}}));
  EXPECT_TRUE(keys == before);
}

TYPED_TEST(FewValues, AreToldFromManyByASample) {
  const auto share = [](std::vector<TypeParam> keys) {
    return glance_at_repeats(
               Block<TypeParam>{keys.data(), nullptr, static_cast<index_t>(keys.size()), {}})
        .once;
  };
  EXPECT_LT(share(keys_of<TypeParam>(200000, 500)), 0.01);
  EXPECT_GT(share(keys_of<TypeParam>(200000, 10000000)), 0.95);
  EXPECT_EQ(share(keys_of<TypeParam>(1000, 2)), 1);
}

/// The sample shows few values, and rare ones are in the rest.
TYPED_TEST(FewValues, RareOnesBesideThemAreSortedToo) {
  auto keys = keys_of<TypeParam>(300000, 100);
  for (std::size_t i = 100000; i < 110000; ++i)
    keys[i] = static_cast<TypeParam>(random_bits(seed, 2, static_cast<index_t>(i)));
  auto want = keys, scratch = keys;
  std::sort(want.begin(), want.end());
  sort_keys<TypeParam>("auto", keys, scratch);
  EXPECT_TRUE(keys == want);
}

/// Values adjacent, scattered over a narrow range, or anywhere: each case uses another method.
TYPED_TEST(FewValues, AreSortedByAutoWhereverTheyLie) {
  for (const index_t n : {70000, 300000}) {
    for (const int values : {2, 20, 100, 1000, 4000}) {
      for (const TypeParam apart : {TypeParam{1}, TypeParam{700}, TypeParam{1000003}}) {
        std::vector<TypeParam> keys;
        for (index_t i = 0; i < n; ++i)
          keys.push_back(
              static_cast<TypeParam>(random_bits(seed, 3, i) % static_cast<unsigned>(values)) *
              apart);
        for (const int threads : {1, 3}) {
          auto got = keys, want = keys;
          std::sort(want.begin(), want.end());
          sort_keys<TypeParam>("auto", std::span(got), threads);
          EXPECT_TRUE(got == want) << n << " of " << values << ", " << apart << " apart";
        }
      }
    }
  }
}

/// Too many values to count, most keys of a few of them: teams sort parts and merge them.
TYPED_TEST(FewValues, AreSortedAmongManySeldomOnes) {
  for (const index_t n : {70000, 300001, 1000003}) {
    std::vector<TypeParam> keys;
    for (index_t i = 0; i < n; ++i) {
      const std::uint64_t bits = random_bits(seed, 4, i);
      const auto value = static_cast<TypeParam>(bits / 16 % (bits % 4 == 0 ? 10000 : 100));
      keys.push_back(value * TypeParam{424243});
    }
    auto want = keys;
    std::sort(want.begin(), want.end());
    for (const int threads : {1, 3, 4}) {
      auto got = keys;
      sort_keys<TypeParam>("auto", std::span(got), threads);
      EXPECT_TRUE(got == want) << n << " on " << threads;
    }
  }
}

}  // namespace
}  // namespace tessera::sort
