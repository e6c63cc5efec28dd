// Every sort kernel that runs in tasks, once, on inputs just large enough for all of them to be
// split. For ThreadSanitizer: the complete sort_test takes it more than five minutes.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/in_parts.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/survey.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/sort/verify.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

constexpr std::uint64_t seed = 5;
constexpr index_t n = 8 * task_grain + 7;  // the longest grain (survey, common), and a remainder
constexpr int threads = 4;                 // fewer reveal fewer races

enum class Kind { wide, few_values, almost_sorted };

template <class T>
std::vector<T> make(Kind kind) {
  std::vector<T> keys(static_cast<std::size_t>(n));
  machine::parallel(threads, [&] {
    generate<T>(input(kind == Kind::almost_sorted ? "almost_sorted" : "uniform"), seed, 0, n,
                std::span(keys));
  });
  if (kind == Kind::few_values)
    std::for_each(keys.begin(), keys.end(), [](T& key) { key %= 1000; });
  return keys;
}

/// Returns the host rows that support such keys; those of a narrow range get one.
std::vector<std::string_view> names_for(Kind kind) {
  std::vector<std::string_view> names{"auto"};
  for (const Variant& row : variants()) {
    if (row.space == Space::host &&
        (row.widest_range == ~std::uint64_t{0} || kind == Kind::few_values))
      names.push_back(row.name);
  }
  return names;
}

template <class T>
struct Teams : testing::Test {};
using Types = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Teams, Types);

TYPED_TEST(Teams, SortKeysOfEveryVariant) {
  for (const Kind kind : {Kind::wide, Kind::few_values, Kind::almost_sorted}) {
    const auto keys = make<TypeParam>(kind);
    const Content before = content(std::span<const TypeParam>(keys), seed);
    for (const std::string_view name : names_for(kind)) {
      auto data = keys, scratch = keys;
      bool sorted = false;
      Content after;
      machine::parallel(threads, [&] {
        sort_keys<TypeParam>(name, data, scratch);
        sorted = is_sorted(std::span<const TypeParam>(data));
        after = content(std::span<const TypeParam>(data), seed);
      });
      EXPECT_TRUE(sorted && after == before) << name << " input " << static_cast<int>(kind);
    }
  }
}

TYPED_TEST(Teams, SurveyTheOrderBetweenTheirParts) {
  using T = TypeParam;
  std::vector<T> keys(n);
  std::iota(keys.begin(), keys.end(), T{0});
  std::rotate(keys.begin(), keys.begin() + n % task_grain,
              keys.end());  // descending at the beginning of the last part
  Survey seen;
  machine::parallel(threads, [&] { seen = survey(Block<T>{keys.data(), nullptr, n}); });
  EXPECT_EQ(seen.descents, 1);
  EXPECT_EQ(seen.ascents, n - 2);
  EXPECT_EQ(seen.range(), static_cast<std::uint64_t>(n - 1));
}

TYPED_TEST(Teams, SortInPartsWithLittleScratch) {
  for (const Kind kind : {Kind::wide, Kind::few_values, Kind::almost_sorted}) {
    auto keys = make<TypeParam>(kind), want = keys;
    std::vector<TypeParam> scratch(keys.size() / 9);
    std::sort(want.begin(), want.end());
    machine::parallel(threads, [&] { sort_in_parts<TypeParam>("auto", keys, scratch); });
    EXPECT_TRUE(keys == want) << "input " << static_cast<int>(kind);
  }
}

TEST(TeamsOfPairs, AreSorted) {
  for (const Kind kind : {Kind::wide, Kind::few_values}) {
    std::vector<Pair> pairs;
    for (const auto key : make<std::uint32_t>(kind)) pairs.push_back({key, pairs.size()});
    auto want = pairs;
    std::sort(want.begin(), want.end());
    for (const std::string_view name : names_for(kind)) {
      auto data = pairs, scratch = pairs;
      machine::parallel(threads, [&] { sort_pairs(name, data, scratch); });
      EXPECT_TRUE(data == want) << name << " input " << static_cast<int>(kind);
    }
  }
}

}  // namespace
}  // namespace tessera::sort
