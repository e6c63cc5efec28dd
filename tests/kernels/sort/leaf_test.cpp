#include "kernels/sort/leaf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/hash.hpp"

namespace tessera::sort {
namespace {

template <class T>
class FewKeys : public testing::Test {};
using Types =
    testing::Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(FewKeys, Types);

/// Returns ranges around the branches of the mapping back to raw keys, with the widths at which the
/// comparison of rows changes.
template <class B>
std::vector<Bounds<B>> ranges(const KeyMap<B>& map) {
  constexpr B all = static_cast<B>(~B{0}), sign = B{1} << (8 * sizeof(B) - 1);
  constexpr B widest =
      sizeof(B) == 8 ? static_cast<B>(0x7fdfffffffffffff) : static_cast<B>(0x7effffff);
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
      for (const index_t n : {index_t{1}, index_t{2}, index_t{17}, kernels.few / 2 + 1,
                              kernels.few - 1, kernels.few}) {
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

/// Returns keys of two sorted runs: arbitrary, a few with the maximum, all of a below those of b,
/// and the reverse.
template <class B>
B merged_key(int kind, bool of_b, index_t i) {
  const auto any = static_cast<B>(mix64(static_cast<std::uint64_t>(2 * i + (of_b ? 1 : 0))));
  if (kind == 0) return any;
  if (kind == 1) return static_cast<B>(any % 3 == 0 ? ~B{0} : any % 3);
  return static_cast<B>(any / 2 + ((kind == 2) == of_b ? static_cast<B>(~B{0}) / 2 : 0));
}

template <class B>
void expect_merges() {
  const auto merge = leaf_kernels<B>().merge;
  if (merge == nullptr) GTEST_SKIP() << "no merge in vectors on this processor";
  for (const std::size_t na : {0U, 1U, 7U, 8U, 9U, 40U, 333U, 3001U}) {
    for (const std::size_t nb : {0U, 1U, 15U, 16U, 17U, 100U, 1000U, 2999U}) {
      for (const int kind : {0, 1, 2, 3}) {
        std::vector<B> a(na), b(nb), want(na + nb), got(na + nb + 32, B{77});
        for (std::size_t i = 0; i < na; ++i)
          a[i] = merged_key<B>(kind, false, static_cast<index_t>(i));
        for (std::size_t i = 0; i < nb; ++i)
          b[i] = merged_key<B>(kind, true, static_cast<index_t>(i));
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        std::merge(a.begin(), a.end(), b.begin(), b.end(), want.begin());
        merge(a.data(), static_cast<index_t>(na), b.data(), static_cast<index_t>(nb),
              got.data() + 16);
        want.insert(want.begin(), 16, B{77});
        want.insert(want.end(), 16, B{77});
        ASSERT_EQ(got, want) << na << " and " << nb << " keys of kind " << kind;
      }
    }
  }
}

TEST(Merge, OfTwoRunsOf64Bits) { expect_merges<std::uint64_t>(); }
TEST(Merge, OfTwoRunsOf32Bits) { expect_merges<std::uint32_t>(); }

}  // namespace
}  // namespace tessera::sort
