#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "kernels/sort/in_parts.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/keys.hpp"
#include "kernels/sort/leaf.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/sort/verify.hpp"
#include "machine/fork_join.hpp"
#include "machine/gpu.hpp"

namespace tessera::sort {
namespace {

constexpr std::uint64_t any_range = ~std::uint64_t{0};

TYPED_TEST_SUITE(Keys, KeyTypes);

template <class T>
std::vector<Bits<T>> bits_of(const std::vector<T>& keys, Order order) {
  std::vector<Bits<T>> bits;
  for (const T key : keys) bits.push_back(key_map<T>(order).to_bits(std::bit_cast<Bits<T>>(key)));
  return bits;
}

/// Sorts `keys` between sentinels and compares with std::sort of the bits.
template <class T>
void expect_sorted(std::string_view variant, const std::vector<T>& keys, Order order, int threads,
                   const std::string& what) {
  constexpr std::size_t guard = 16;
  const auto n = keys.size();
  std::vector<T> data(n + 2 * guard, T{77}), scratch(n + 2 * guard, T{77});
  std::copy(keys.begin(), keys.end(), data.begin() + guard);
  machine::parallel(threads, [&] {
    sort_keys(variant, std::span<T>(data).subspan(guard, n),
              std::span<T>(scratch).subspan(guard, n), order);
  });
  auto want = bits_of(keys, order);
  std::sort(want.begin(), want.end());
  const std::vector<T> result(data.begin() + guard,
                              data.begin() + guard + static_cast<std::ptrdiff_t>(n));
  ASSERT_TRUE(bits_of(result, order) == want)
      << variant << " " << what << " n " << n << " threads " << threads;
  for (std::size_t i = 0; i < guard; ++i) {
    for (const auto* memory : {&data, &scratch}) {
      ASSERT_EQ((*memory)[i], T{77})
          << variant << " wrote before its block, " << what << " n " << n;
      ASSERT_EQ((*memory)[guard + n + i], T{77})
          << variant << " wrote behind its block, " << what << " n " << n;
    }
  }
}

template <class T>
std::uint64_t range_of(const std::vector<T>& keys) {
  const auto bits = bits_of(keys, Order::ascending);
  if (bits.empty()) return 0;
  return *std::max_element(bits.begin(), bits.end()) - *std::min_element(bits.begin(), bits.end());
}

/// Returns the rows that this machine can run.
std::vector<std::pair<std::string_view, std::uint64_t>> all_variants() {
  static const bool gpu = !machine::gpus().devices.empty();
  std::vector<std::pair<std::string_view, std::uint64_t>> names{{"auto", any_range}};
  for (const Variant& row : variants()) {
    if (row.space == Space::host || gpu) names.emplace_back(row.name, row.widest_range);
  }
  return names;
}

TEST(DeviceVariants, AreAmongTheRowsTestedHere) {
  const std::size_t rows = variants().size() + 1;
  if (all_variants().size() < rows)
    GTEST_SKIP() << rows - all_variants().size()
                 << " device variants are not run: " << machine::gpus().reason;
}

TEST(Pairs, OfAnyOrderAreSortedOutsideOfARegion) {
  for (const char* name : {"sorted", "reverse", "uniform"}) {
    const auto keys = make<std::uint64_t>(name, 300000);
    for (const int threads : {1, 3}) {
      std::vector<Pair> pairs;
      for (const std::uint64_t key : keys) pairs.push_back({key / 4, pairs.size()});
      auto want = pairs;
      std::sort(want.begin(), want.end());
      sort_pairs("auto", pairs, threads);
      EXPECT_TRUE(pairs == want) << name << " threads " << threads;
    }
  }
}

TYPED_TEST(Keys, OrderedOnesNeedNoScratchMemory) {
  using T = TypeParam;
  constexpr index_t beyond_one_look = (index_t{17} << 20) / sizeof(T);
  for (const index_t n : {index_t{0}, index_t{1}, index_t{2}, index_t{1001}, beyond_one_look}) {
    auto keys = make<T>("sorted", n);
    const auto want = keys;
    for (const int threads : {1, 3}) {
      EXPECT_TRUE(sort_ordered(std::span<T>(keys), threads)) << n;
      EXPECT_EQ(keys, want);
      std::reverse(keys.begin(), keys.end());
      EXPECT_TRUE(sort_ordered(std::span<T>(keys), threads)) << n << " reversed";
      EXPECT_EQ(keys, want);
      EXPECT_TRUE(sort_ordered(std::span<T>(keys), threads, Order::descending)) << n;
      EXPECT_TRUE(std::equal(want.rbegin(), want.rend(), keys.begin())) << n << " to descend";
      keys = want;
      if (n < 3) continue;
      keys = make<T>("uniform", n);
      const auto any = keys;
      EXPECT_FALSE(sort_ordered(std::span<T>(keys), threads));
      EXPECT_EQ(keys, any);
      keys = want;
      for (const std::size_t last : {keys.size() - 1, keys.size() / 2, std::size_t{2}}) {
        std::swap(keys[last], keys[0]);
        auto left = keys;
        const bool put_back = n < beyond_one_look;
        EXPECT_EQ(sort_ordered(std::span<T>(left), threads), put_back) << n << " " << last;
        EXPECT_EQ(left, put_back ? want : keys);
        sort_keys("auto", std::span<T>(left), threads);
        EXPECT_EQ(left, want) << n << " " << last;
        std::swap(keys[last], keys[0]);
      }
      if (n < beyond_one_look) continue;
      constexpr std::size_t border =
          (std::size_t{16} << 20) / sizeof(T);  // end of the first examined block
      std::swap(keys[border - 1], keys[border]);
      EXPECT_FALSE(sort_ordered(std::span<T>(keys), threads));
      keys = want;
    }
  }
}

TYPED_TEST(Keys, EveryVariantSortsEveryInput) {
  for (const Input& in : inputs()) {
    for (const index_t n : {0, 1, 2, 3, 31, 64, 1021, 5000, 70001}) {
      const auto keys = make<TypeParam>(in.name, n);
      const auto range = range_of(keys);
      for (const auto& [variant, widest] : all_variants()) {
        if (range > std::min<std::uint64_t>(widest, widest == any_range ? widest : 1 << 18))
          continue;
        const Order order = n % 2 == 0 ? Order::descending : Order::ascending;
        expect_sorted(variant, keys, order, n % 3 == 0 ? 1 : 3, std::string(in.name));
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TYPED_TEST(Keys, LargeInputsOnManyThreads) {
  for (const auto name : {"uniform", "exponential", "zipf", "almost_sorted", "eight_dup",
                          "entropy_0.544", "entropy_0.201"}) {
    const auto keys = make<TypeParam>(name, 600011);
    const auto range = range_of(keys);
    for (const auto& [variant, widest] : all_variants()) {
      if (range > widest || (widest != any_range && range > 1 << 18)) continue;
      expect_sorted(variant, keys, Order::ascending, 4, name);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(Keys, BucketsOfOftenAndSeldomKeysAreCounted) {
  std::vector<TypeParam> keys;  // at least 2^16 of one bucket, some thousands of the others
  for (index_t i = 0; i < 250007; ++i) {
    const std::uint64_t bits = random_bits(key_seed, 1, i);
    keys.push_back(static_cast<TypeParam>(bits % 3 != 0 ? 70000 : bits / 3 % 150000));
  }
  const auto range = range_of(keys);
  for (const auto& [variant, widest] : all_variants()) {
    if (range > widest || !variant.starts_with("counting")) continue;
    for (const int threads : {1, 4})
      expect_sorted(variant, keys, Order::descending, threads, "often");
  }
}

TYPED_TEST(Keys, ExtremeValuesAreKeptAndOrdered) {
  const auto values = specials<TypeParam>();
  std::vector<TypeParam> keys;
  for (index_t i = 0; i < 20000; ++i) {
    keys.push_back(values[random_bits(key_seed, 0, i) % values.size()]);
  }
  for (const auto& [variant, widest] : all_variants()) {
    if (widest != any_range) continue;
    for (const Order order : {Order::ascending, Order::descending}) {
      expect_sorted(variant, keys, order, 2, "specials");
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(Keys, AreSortedInPartsWithLittleScratch) {
  using T = TypeParam;
  for (const Input& made : inputs()) {
    for (const index_t n : {index_t{0}, index_t{1}, index_t{100}, index_t{1009}, index_t{20011}}) {
      const auto keys = make<T>(made.name, n);
      for (const std::size_t room : {std::size_t{1}, std::size_t{64}, std::size_t{3000}}) {
        if (room == 1 && n > 1009) continue;
        auto data = keys;
        std::vector<T> scratch(room + 1, T{77});
        const Order order = n % 2 == 0 ? Order::ascending : Order::descending;
        sort_in_parts<T>("auto", data, std::span<T>(scratch).first(room), order);
        auto want = bits_of(keys, order);
        std::sort(want.begin(), want.end());
        ASSERT_TRUE(bits_of(data, order) == want) << made.name << " n " << n << " room " << room;
        ASSERT_EQ(scratch.back(), T{77});
      }
    }
  }
}

TYPED_TEST(Keys, MapIsABijectionThatKeepsTheOrder) {
  auto keys = make<TypeParam>("gaussian", 1000);
  for (const TypeParam key : specials<TypeParam>()) keys.push_back(key);
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto map = key_map<TypeParam>(order);
    for (const TypeParam a : keys) {
      const auto raw = std::bit_cast<Bits<TypeParam>>(a);
      ASSERT_EQ(map.to_raw(map.to_bits(raw)), raw);
      for (const TypeParam b : keys) {
        const auto bits_a = map.to_bits(raw),
                   bits_b = map.to_bits(std::bit_cast<Bits<TypeParam>>(b));
        if (order == Order::ascending ? a < b : b < a) {
          ASSERT_LT(bits_a, bits_b) << a << " " << b;
        }
        if (a == a && b != b) {
          ASSERT_LT(bits_a, bits_b) << "NaN is last";
        }
      }
    }
  }
}

TEST(KeyMap, PutsMinusZeroBeforeZero) {
  const auto map = key_map<double>(Order::ascending);
  EXPECT_LT(map.to_bits(std::bit_cast<std::uint64_t>(-0.0)),
            map.to_bits(std::bit_cast<std::uint64_t>(0.0)));
}

TEST(SortPairs, IsStableForEveryVariantAndInput) {
  for (const Input& in : inputs()) {
    for (const index_t n : {0, 1, 2, 63, 1000, 40000}) {
      const auto keys = make<std::uint32_t>(in.name, n);
      std::vector<Pair> pairs;
      for (const auto key : keys) pairs.push_back({key, 5 + pairs.size()});
      auto want = pairs;
      std::stable_sort(want.begin(), want.end(),
                       [](const Pair& a, const Pair& b) { return a.key < b.key; });
      for (const auto& [variant, widest] : all_variants()) {
        if (widest != any_range && range_of(keys) > 1 << 18) continue;
        auto data = pairs;
        std::vector<Pair> scratch(pairs.size());
        machine::parallel(3, [&, name = variant] { sort_pairs(name, data, scratch); });
        ASSERT_TRUE(data == want) << variant << " " << in.name << " n " << n;
      }
    }
  }
}

TEST(SortKeys, RefusesUnknownNamesAndTooWideRanges) {
  std::vector<std::uint64_t> keys{1, ~std::uint64_t{0}, 3}, scratch(3);
  EXPECT_THROW(sort_keys<std::uint64_t>("radxi", keys, scratch), Error);
  EXPECT_THROW(sort_keys<std::uint64_t>("counting", keys, scratch), Error);
  EXPECT_THROW((void)input("unifrom"), Error);
}

/// Default on one thread for many equal or unevenly distributed keys.
TYPED_TEST(Keys, QuicksortOfOneThreadSortsEverything) {
  using T = TypeParam;
  using B = Bits<T>;
  const auto quicksort = leaf_kernels<B>().quicksort;
  if (quicksort == nullptr) GTEST_SKIP() << "not for this instruction set";
  const auto expect_sorted = [&](std::vector<T> keys, Order order, const std::string& what) {
    const auto map = key_map<T>(order);
    auto want = bits_of(keys, order);
    std::sort(want.begin(), want.end());
    quicksort(reinterpret_cast<B*>(keys.data()), static_cast<index_t>(keys.size()), map);
    ASSERT_EQ(bits_of(keys, order), want) << what;
  };
  for (const Order order : {Order::ascending, Order::descending}) {
    for (index_t n = 1024; n < 1100; ++n)
      expect_sorted(make<T>("uniform", n), order, std::to_string(n));
    for (const Input& in : inputs()) {
      auto keys = make<T>(in.name, 100003);
      expect_sorted(keys, order, std::string(in.name));
      for (const T key : specials<T>()) keys.insert(keys.begin() + 777, 100, key);
      expect_sorted(keys, order, std::string(in.name) + " and special values");
      if (this->HasFatalFailure()) return;
    }
    std::vector<T> halves(50000, T{1});
    std::fill(halves.begin(), halves.begin() + 20000, std::numeric_limits<T>::max());
    std::fill(halves.begin() + 30000, halves.end(), std::numeric_limits<T>::lowest());
    expect_sorted(halves, order, "three values");
  }
}

TEST(Inputs, AreTheSameInPiecesAndNamedOnce) {
  for (const Input& in : inputs()) {
    const auto whole = make<double>(in.name, 1000);
    std::vector<double> piece(300);
    generate<double>(in, key_seed, 650, 1000, piece);
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + 650)) << in.name;
    EXPECT_EQ(&input(in.name), &in);
  }
  EXPECT_TRUE(is_sorted<double>(make<double>("sorted", 1000)));
  EXPECT_TRUE(is_sorted<std::int32_t>(make<std::int32_t>("reverse", 1000), Order::descending));
}

TEST(Choose, KnowsTheShapes) {
  const auto plan = [](std::string_view name) {
    auto keys = make<std::uint64_t>(name, 10000);
    return tessera::sort::name(
        choose(survey(Block<std::uint64_t>{keys.data(), nullptr, 10000, {}}), 10000));
  };
  EXPECT_EQ(plan("almost_sorted"), "displaced");
  EXPECT_EQ(plan("staggered"), "radix");
  EXPECT_EQ(plan("root_dup"), "counting_bucketed");
  EXPECT_EQ(plan("uniform"), "radix");
}

template <class T>
void expect_other_keys_sorted() {
  std::vector<T> keys;
  for (int i = 0; i < 3000; ++i) keys.push_back(static_cast<T>(random_bits(1, 1, i) % 251 - 125));
  std::vector<T> want = keys, in_scratch = keys, scratch = keys;
  std::sort(want.begin(), want.end(), std::greater<>());
  sort_keys("auto", std::span<T>(keys), 2, Order::descending);
  EXPECT_EQ(keys, want);
  sort_keys("auto", std::span<T>(in_scratch), std::span<T>(scratch), Order::descending);
  EXPECT_EQ(in_scratch, want);
}
TEST(OtherKeys, AreSortedUnderAnyName) {
  expect_other_keys_sorted<long long>();
  expect_other_keys_sorted<unsigned long long>();
  expect_other_keys_sorted<char>();
  expect_other_keys_sorted<char16_t>();
}

}  // namespace
}  // namespace tessera::sort
