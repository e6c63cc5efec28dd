// Keys of less than 32 bits: every value, bit by bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/random.hpp"
#include "kernels/sort/argsort.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

template <class T>
class SmallKeys : public testing::Test {
 public:
  using Places = KeyMap<Bits<ComparedAs<T>>>;

  /// Returns values of all bits, most of them several times, in random order.
  static std::vector<T> made() {
    std::vector<T> keys(150001);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto bits = static_cast<std::uint16_t>(random_bits(3, 1, static_cast<index_t>(i)));
      std::memcpy(&keys[i], &bits, sizeof(T));
    }
    return keys;
  }
  static auto place(T key, const Places& map) {
    return map.to_bits(std::bit_cast<Bits<ComparedAs<T>>>(widened(key)));
  }
  static void expect_same(const std::vector<T>& got, const std::vector<T>& want) {
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(T)), 0);
  }
};
using Types = testing::Types<std::int8_t, std::int16_t, std::uint8_t, std::uint16_t, Half>;
TYPED_TEST_SUITE(SmallKeys, Types);

TYPED_TEST(SmallKeys, AreSortedBitByBit) {
  using T = TypeParam;
  const std::vector<T> keys = this->made();
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto map = key_map<ComparedAs<T>>(order);
    std::vector<T> want = keys;
    std::sort(want.begin(), want.end(),
              [&](T a, T b) { return this->place(a, map) < this->place(b, map); });
    for (const char* const kernel : {"auto", "mergesort"}) {
      std::vector<T> got = keys, scratch = keys;
      sort_keys(kernel, std::span<T>(got), 3, order);
      this->expect_same(got, want);
      got = keys;
      machine::parallel(
          2, [&] { sort_keys(kernel, std::span<T>(got), std::span<T>(scratch), order); });
      this->expect_same(got, want);
    }
  }
}

TYPED_TEST(SmallKeys, HaveTheOrderOfTheirValues) {
  using T = TypeParam;
  const std::vector<T> keys = this->made();
  const auto n = static_cast<index_t>(keys.size()) / 2;  // every second one
  std::vector<double> wide;
  for (index_t i = 0; i < n; ++i)
    wide.push_back(static_cast<double>(widened(keys[static_cast<std::size_t>(2 * i)])));
  for (const Order order : {Order::ascending, Order::descending}) {
    std::vector<std::uint64_t> got(wide.size()), want(wide.size());
    argsort_keys<T>({reinterpret_cast<const std::byte*>(keys.data()), 2 * sizeof(T), n}, order, got,
                    2);
    argsort_keys<double>({reinterpret_cast<const std::byte*>(wide.data()), 8, n}, order, want, 2);
    EXPECT_EQ(got, want);
  }
}

}  // namespace
}  // namespace tessera::sort
