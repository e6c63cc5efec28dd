#include "kernels/sort/radix_plan.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/sort/inputs.hpp"
#include "kernels/sort/variants.hpp"

namespace tessera::sort {
namespace {

template <class B>
struct Plans : testing::Test {};
using Types = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Plans, Types);

template <class B>
std::vector<B> make(std::string_view name, index_t n) {
  std::vector<B> keys(static_cast<std::size_t>(n));
  generate<B>(input(name), 3, 0, n, keys);
  return keys;
}

/// Keys outside the sample have a bucket too, within its bounds.
template <class B>
void expect_bounds_hold(const RadixPlan<B>& plan, std::vector<B> keys, const std::string& what) {
  constexpr B all = static_cast<B>(~B{0});
  for (int bit = 0; bit < 8 * static_cast<int>(sizeof(B)); ++bit) {
    const B power = static_cast<B>(B{1} << bit);
    for (const B key : {static_cast<B>(power - 1), power, static_cast<B>(power + 1)})
      keys.push_back(key);
  }
  for (const B key : {B{0}, all, static_cast<B>(all - 1)}) keys.push_back(key);
  for (std::size_t i = 0; i < keys.size(); i += static_cast<std::size_t>(classify_batch)) {
    const auto n =
        static_cast<index_t>(std::min(keys.size() - i, static_cast<std::size_t>(classify_batch)));
    std::vector<B> bits(static_cast<std::size_t>(n));
    std::vector<std::uint16_t> bucket(static_cast<std::size_t>(classify_batch));
    leaf_kernels<B>().classify(plan.division(), keys.data() + i, n, keys.data() + i, bits.data(),
                               bucket.data());
    for (std::size_t j = 0; j < bits.size(); ++j) {
      ASSERT_LT(bucket[j], plan.buckets()) << what << " key " << bits[j];
      const Bounds<B> bounds = plan.bounds(bucket[j]);
      ASSERT_TRUE(bounds.low <= bits[j] && bits[j] <= bounds.high)
          << what << " key " << bits[j] << " in bucket " << bucket[j] << " of " << plan.buckets()
          << ": [" << bounds.low << ", " << bounds.high << "]";
    }
  }
}

TYPED_TEST(Plans, BoundsHoldEveryKeyOfTheBucket) {
  const auto plan = std::make_unique<RadixPlan<TypeParam>>();
  for (const Input& in : inputs()) {
    const auto keys = make<TypeParam>(in.name, 20000);
    for (const index_t wanted : {1, 16, 200, 2048}) {
      plan->divide_sampled(keys.data(), 20000, wanted, {});
      EXPECT_LE(plan->buckets(), 2 * wanted + 2);
      expect_bounds_hold(*plan, keys, std::string(in.name) + " " + std::to_string(wanted));
      if (this->HasFatalFailure()) return;
    }
  }
}

/// Doubles that are evenly distributed as numbers have even buckets by value, and the bounds hold
/// for any double, in both orders.
TEST(Plan, EvenDoublesAreDividedByValue) {
  using L = std::numeric_limits<double>;
  std::vector<double> rare{
      0.0,      -0.0,        L::infinity(), -L::infinity(),  L::quiet_NaN(),  -L::quiet_NaN(),
      L::max(), L::lowest(), L::min(),      L::denorm_min(), -L::denorm_min()};
  for (int e = -1074; e < 1024; e += 3)
    rare.insert(rare.end(), {std::ldexp(1.0, e), -std::ldexp(1.5, e)});
  constexpr index_t n = 1 << 20;
  const auto plan = std::make_unique<RadixPlan<std::uint64_t>>();
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto map = key_map<double>(order);
    for (const auto& [scale, shift] :
         {std::pair{1.0, 0.0}, {2e300, -1e300}, {1e-310, 0.0}, {-5.0, 3.0}}) {
      std::vector<double> keys(n);
      generate<double>(input("uniform"), 3, 0, n, keys);
      for (double& key : keys) key = key * scale + shift;
      for (const index_t wanted : {1, 16, 200, 2048}) {
        const std::string what = std::to_string(scale) + " " + std::to_string(wanted);
        plan->divide_sampled(reinterpret_cast<const std::uint64_t*>(keys.data()), n, wanted, map);
        if (wanted == 16 || wanted == 200) {
          EXPECT_EQ(plan->division().by_value, std::abs(scale) > 1e-300) << what;
        }
        EXPECT_LE(plan->buckets(), 2 * wanted + 2) << what;
        std::vector<std::uint64_t> raw;
        for (std::size_t k = 0; k < 5000; ++k) raw.push_back(std::bit_cast<std::uint64_t>(keys[k]));
        for (const double key : rare) raw.push_back(std::bit_cast<std::uint64_t>(key));
        expect_bounds_hold(*plan, raw, what);
        if (HasFatalFailure()) return;
      }
    }
    std::vector<double> keys(300000), scratch(keys.size());
    generate<double>(input("uniform"), 3, 0, 300000, keys);
    std::copy(rare.begin(), rare.end(), keys.begin() + 1000);
    auto bits = [&](double key) { return map.to_bits(std::bit_cast<std::uint64_t>(key)); };
    std::vector<std::uint64_t> want, got;
    for (const double key : keys) want.push_back(bits(key));
    std::sort(want.begin(), want.end());
    sort_keys<double>("radix", keys, scratch, order);
    for (const double key : keys) got.push_back(bits(key));
    EXPECT_TRUE(got == want);
  }
  std::vector<double> skewed(100000);
  generate<double>(input("exponential"), 3, 0, 100000, skewed);
  plan->divide_sampled(reinterpret_cast<const std::uint64_t*>(skewed.data()), 100000, 256,
                       key_map<double>(Order::ascending));
  EXPECT_FALSE(plan->division().by_value);
}

TYPED_TEST(Plans, KeysNearTheLeastOneAreDividedByTheirLength) {
  const auto plan = std::make_unique<RadixPlan<TypeParam>>();
  plan->divide_sampled(make<TypeParam>("uniform", 100000).data(), 100000, 64, {});
  EXPECT_FALSE(plan->division().logarithmic);
  const auto skewed = make<TypeParam>("entropy_0.201", 100000);
  plan->divide_sampled(skewed.data(), 100000, 64, {});
  EXPECT_TRUE(plan->division().logarithmic);
}

/// A few keys far above the sample: small numbers, and a mark for "none".
TYPED_TEST(Plans, KeysFarAboveTheSampleAreSorted) {
  for (int bit = 21; bit < 8 * static_cast<int>(sizeof(TypeParam)); bit += 5) {
    auto keys = make<TypeParam>("uniform", 140000);
    for (auto& key : keys) key = static_cast<TypeParam>(key & 0xfffff);
    keys[777] = static_cast<TypeParam>(TypeParam{1} << bit);
    auto want = keys, scratch = keys;
    std::sort(want.begin(), want.end());
    sort_keys<TypeParam>("radix", keys, scratch);
    ASSERT_TRUE(keys == want) << "bit " << bit;
  }
}

/// Half of the keys equal the maximum, in a separate bucket or not.
TYPED_TEST(Plans, ManyGreatestKeysAreSorted) {
  constexpr auto all = static_cast<TypeParam>(~TypeParam{0});
  for (const int shift : {0, 4, 12, 20}) {
    auto keys = make<TypeParam>("uniform", 300000);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys[i] = i % 2 == 0 ? all : static_cast<TypeParam>(all - (keys[i] >> shift));
    }
    auto want = keys, scratch = keys;
    std::sort(want.begin(), want.end());
    sort_keys<TypeParam>("radix", keys, scratch);
    ASSERT_TRUE(keys == want) << "shift " << shift;
  }
}

}  // namespace
}  // namespace tessera::sort
