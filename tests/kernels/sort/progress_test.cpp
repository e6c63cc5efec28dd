// The sorts count what they have done: all of it by the end, most of it on the way.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/hash.hpp"
#include "base/work_done.hpp"
#include "kernels/sort/in_parts.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/runs.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

std::vector<std::uint64_t> random_keys(index_t n) {
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = mix64(i);
  return keys;
}

double places(index_t n) { return static_cast<double>(n) * std::log2(static_cast<double>(n)); }

TEST(CountsPlaces, OfEverySortThatTakesLong) {
  constexpr index_t n = 3'000'000;
  for (const char* kernel : {"quicksort", "mergesort", "samplesort", "cache_oblivious", "radix"}) {
    for (const int threads : {1, 3}) {
      auto keys = random_keys(n);
      const index_t before = work_done().placed;
      sort_keys<std::uint64_t>(kernel, keys, threads);
      const auto counted = static_cast<double>(work_done().placed - before);
      EXPECT_GT(counted / places(n), 0.7) << kernel << ", threads " << threads;
      EXPECT_LT(counted / places(n), 1.2) << kernel << ", threads " << threads;
    }
  }
}

TEST(CountsPlaces, OfASortInParts) {
  constexpr index_t n = 3'000'000;
  auto keys = random_keys(n);
  std::vector<std::uint64_t> scratch(n / 8);
  const index_t before = work_done().placed;
  machine::parallel(
      3, [&] { sort_in_parts<std::uint64_t>("mergesort", keys, scratch, Order::ascending, {}); });
  EXPECT_NEAR(static_cast<double>(work_done().placed - before) / places(n), 1, 0.3);
}

TEST(CountsBytes, OfGeneratedKeys) {
  std::vector<float> keys(1'000'003);
  const index_t before = work_done().bytes_read;
  machine::parallel(3, [&] { generate<float>(input("uniform"), 1, 0, ssize(keys), keys); });
  EXPECT_EQ(work_done().bytes_read - before, 4 * ssize(keys));
}

TEST(CountsPlaces, OfMerges) {
  constexpr index_t n = 1'000'000;
  auto keys = random_keys(n);
  std::vector<sort::Run<std::uint64_t>> runs;
  for (index_t r = 0; r < 4; ++r) {
    std::sort(keys.begin() + r * n / 4, keys.begin() + (r + 1) * n / 4);
    runs.push_back({keys.data() + r * n / 4, n / 4});
  }
  std::vector<std::uint64_t> merged(keys.size());
  const index_t before = work_done().placed;
  machine::parallel(3, [&] { merge_runs<std::uint64_t>(runs, merged.data()); });
  EXPECT_NEAR(static_cast<double>(work_done().placed - before), 2.0 * n, 1e3);
}

}  // namespace
}  // namespace tessera::sort
