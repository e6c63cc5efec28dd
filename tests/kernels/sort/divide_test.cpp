#include "kernels/sort/divide.hpp"

#include <algorithm>
#include <bit>

#include "kernels/sort/variants.hpp"
#include "keys.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

TYPED_TEST_SUITE(Keys, KeyTypes);

template <class T>
std::vector<Bits<T>> bits_of(std::span<const T> keys, Order order) {
  std::vector<Bits<T>> bits;
  for (const T key : keys) bits.push_back(key_map<T>(order).to_bits(std::bit_cast<Bits<T>>(key)));
  return bits;
}

template <class T>
std::vector<T> sample_of(const std::vector<T>& keys, std::size_t step) {
  std::vector<T> sample;
  for (std::size_t i = 0; i < keys.size(); i += step) sample.push_back(keys[i]);
  return sample;
}

/// Expects that every bucket is within its bounds, that all together equal the input, and that
/// nothing outside `to` is written.
template <class T>
void expect_divided(const Divider<T>& divider, const std::vector<T>& keys, Order order, int threads,
                    index_t shift) {
  const auto n = static_cast<index_t>(keys.size());
  const T sentinel = static_cast<T>(77);
  machine::Buffer<T> room(n + shift + 9);
  std::fill(room.begin(), room.end(), sentinel);
  std::vector<index_t> begin(static_cast<std::size_t>(divider.buckets()) + 1);
  const std::span<T> to = room.span().subspan(static_cast<std::size_t>(shift), keys.size());
  machine::parallel(threads, [&] { divider.divide(keys, to, begin); });
  ASSERT_EQ(begin.front(), 0);
  ASSERT_EQ(begin.back(), n);
  auto bits = bits_of(std::span<const T>(to), order),
       want = bits_of(std::span<const T>(keys), order);
  Bits<T> before = 0;  // the largest key of the preceding buckets
  for (std::size_t b = 0; b + 1 < begin.size(); ++b) {
    ASSERT_LE(begin[b], begin[b + 1]);
    if (begin[b] == begin[b + 1]) continue;
    const auto [low, high] =
        std::minmax_element(bits.begin() + begin[b], bits.begin() + begin[b + 1]);
    EXPECT_LE(before, *low) << "bucket " << b;
    before = *high;
  }
  std::sort(bits.begin(), bits.end());
  std::sort(want.begin(), want.end());
  EXPECT_TRUE(bits == want);
  const auto is_sentinel = [&](T key) { return key == sentinel; };
  EXPECT_TRUE(std::all_of(room.begin(), room.begin() + shift, is_sentinel));
  EXPECT_TRUE(std::all_of(room.begin() + shift + n, room.end(), is_sentinel));
}

TYPED_TEST(Keys, AreDividedByValueWhateverTheirDistribution) {
  for (const Input& in : inputs()) {
    auto keys = make<TypeParam>(in.name, 30001);
    std::size_t at = keys.size() / 2;
    for (const TypeParam key : specials<TypeParam>()) keys[at++] = key;
    for (const Order order : {Order::ascending, Order::descending}) {
      const auto sample = sample_of(keys, 61);
      const Divider<TypeParam> divider(sample, 100, order);
      EXPECT_LE(divider.buckets(), 202) << in.name;
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(std::string(in.name) + (order == Order::ascending ? " up, " : " down, ") +
                     std::to_string(threads));
        expect_divided(divider, keys, order, threads, threads);
      }
    }
  }
}

TYPED_TEST(Keys, AreDividedAlsoWhereTheSampleSawOthers) {
  const auto keys = make<TypeParam>("uniform", 5003);
  const std::vector<TypeParam> sample = specials<TypeParam>();
  for (const index_t wanted : {1, 7, 2047})
    expect_divided(Divider<TypeParam>(sample, wanted, Order::ascending), keys, Order::ascending, 2,
                   3);
}

TYPED_TEST(Keys, FewOrNoneAreDivided) {
  const auto keys = make<TypeParam>("uniform", 130);
  const Divider<TypeParam> divider(keys, 16, Order::ascending);
  for (const std::size_t n : {0U, 1U, 2U, 63U, 64U, 65U, 127U, 130U}) {
    const std::vector<TypeParam> some(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(n));
    for (index_t shift = 0; shift < 9; ++shift)
      expect_divided(divider, some, Order::ascending, 2, shift);
  }
}

TYPED_TEST(Keys, AreClassifiedAsTheyAreDivided) {
  const auto keys = make<TypeParam>("uniform", 5003);
  const Divider<TypeParam> divider(sample_of(keys, 7), 100, Order::descending);
  std::vector<TypeParam> to(keys.size());
  std::vector<index_t> begin(static_cast<std::size_t>(divider.buckets()) + 1),
      count(begin.size(), 0);
  divider.divide(keys, to, begin);
  std::vector<std::uint16_t> bucket(keys.size() + 1, 54321);
  divider.classify(keys, bucket.data());
  EXPECT_EQ(bucket.back(), 54321);
  for (std::size_t j = 0; j < keys.size(); ++j) ++count[bucket[j]];
  for (std::size_t b = 0; b + 1 < begin.size(); ++b) EXPECT_EQ(count[b], begin[b + 1] - begin[b]);
}

TEST(Divider, HasBucketsOfLikeWeight) {
  const auto keys = make<std::uint64_t>("exponential", 1 << 18);
  const Divider<std::uint64_t> divider(sample_of(keys, 32), 64, Order::ascending);
  std::vector<std::uint64_t> to(keys.size());
  std::vector<index_t> begin(static_cast<std::size_t>(divider.buckets()) + 1);
  divider.divide(keys, to, begin);
  for (std::size_t b = 0; b + 1 < begin.size(); ++b)
    EXPECT_LT(begin[b + 1] - begin[b], 3 * static_cast<index_t>(keys.size()) / 64) << b;
}

TEST(Divider, IsKnownByItsBorders) {
  const auto keys = make<double>("gaussian", 8192), others = make<double>("exponential", 8192);
  const auto print = [](const std::vector<double>& sample, index_t wanted, Order order) {
    return Divider<double>(sample, wanted, order).fingerprint();
  };
  const std::uint64_t one = print(keys, 100, Order::ascending);
  EXPECT_EQ(print(keys, 100, Order::ascending), one);
  EXPECT_NE(print(keys, 200, Order::ascending), one);
  EXPECT_NE(print(others, 100, Order::ascending), one);
  EXPECT_NE(print(keys, 100, Order::descending), one);
}

}  // namespace
}  // namespace tessera::sort
