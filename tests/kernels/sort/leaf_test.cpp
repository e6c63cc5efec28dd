#include "kernels/sort/leaf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/hash.hpp"

namespace tessera::sort {
namespace {

template <class T>
class FewKeys : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(FewKeys, Types);

/// Ranges about the places where the way back to raw keys bends, of the widths where it changes how rows are
/// compared.
template <class B>
std::vector<Bounds<B>> ranges(const KeyMap<B>& map) {
  constexpr B all = static_cast<B>(~B{0}), sign = B{1} << (8 * sizeof(B) - 1);
  constexpr B widest = sizeof(B) == 8 ? static_cast<B>(0x7fdfffffffffffff) : static_cast<B>(0x7effffff);
  std::vector<Bounds<B>> them;
  for (const B place :
       {B{0}, all, sign, static_cast<B>(sign - 1), map.top, map.to_bits(B{0}), map.to_bits(sign)}) {
    for (const B width :
         {B{0}, B{1}, B{50}, static_cast<B>(widest - 1), widest, static_cast<B>(widest + 1), all}) {
      for (const B before : {B{0}, static_cast<B>(width / 2), width}) {
        const B low = place > before ? static_cast<B>(place - before) : B{0};
        them.push_back({low, all - low < width ? all : static_cast<B>(low + width)});
      }
    }
  }
  return them;
}

TYPED_TEST(FewKeys, AreSortedInAllBounds) {
  using B = Bits<TypeParam>;
  const auto& kernels = leaf_kernels<B>();
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto map = key_map<TypeParam>(order);
    for (const auto& [low, high] : ranges(map)) {
      for (const index_t n :
           {index_t{1}, index_t{2}, index_t{17}, kernels.few / 2 + 1, kernels.few - 1, kernels.few}) {
        std::vector<B> bits;
        for (index_t i = 0; i < n; ++i) {
          const auto any = static_cast<B>(mix64(static_cast<std::uint64_t>(i)));
          const B range = static_cast<B>(high - low);
          const B far = range == static_cast<B>(~B{0}) ? any : static_cast<B>(any % (range + 1));
          bits.push_back(i % 5 == 0 ? high : (i % 5 == 1 ? low : static_cast<B>(low + far)));
        }
        auto want = bits;
        std::sort(want.begin(), want.end());
        for (B& key : want) key = map.to_raw(key);
        std::vector<B> got(bits.size() + 1, B{77});
        kernels.sort_few(bits.data(), got.data(), n, {low, high}, map);
        ASSERT_EQ(got.back(), B{77});
        got.pop_back();
        ASSERT_EQ(got, want) << "bits " << low << " to " << high << " n " << n;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::sort
