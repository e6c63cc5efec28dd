// Device rows of the table with so little device memory that the items pass through it in runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "kernels/sort/device_runs.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/gpu.hpp"

namespace tessera::sort {
namespace {

class CudaRuns : public testing::Test {
 protected:
  void SetUp() override {
    const machine::Gpus gpus = machine::gpus();
    if (gpus.devices.empty()) GTEST_SKIP() << "no device: " << gpus.reason;
  }
  /// Calls f(row, tuning) for every device row that supports any keys; item_bytes: bytes of an
  /// item.
  template <class F>
  static void for_rows(std::size_t item_bytes, const F& f) {
    for (const Variant& row : variants()) {
      if (row.space != Space::device) continue;
      for (const index_t items : {1 << 17, 300000, 1 << 20}) {
        constexpr index_t arrays = passing_runs + 1, work = index_t{2} << 20;
        f(row, Tuning{.device_memory = arrays * items * static_cast<index_t>(item_bytes) + work});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  template <class T>
  static void check_keys(Order order, std::string_view name) {
    const index_t n = 1234567;
    std::vector<T> made(n);
    generate<T>(input(name), 5, 0, n, made);
    if constexpr (std::is_floating_point_v<T>) {
      made[7] = made[n - 1] = std::numeric_limits<T>::quiet_NaN();
      made[100] = T{-0.0};
    }
    const auto bits = [&](T key) { return key_map<T>(order).to_bits(std::bit_cast<Bits<T>>(key)); };
    std::vector<T> want = made;
    std::sort(want.begin(), want.end(), [&](T a, T b) { return bits(a) < bits(b); });
    for_rows(sizeof(T), [&](const Variant& row, const Tuning& tuning) {
      if (row.name == "cuda_counting" && (name == "uniform" || name == "reverse"))
        return;  // too wide
      std::vector<T> keys = made, scratch(keys.size());
      sort_keys(row.name, std::span(keys), std::span(scratch), order, tuning);
      ASSERT_EQ(std::memcmp(keys.data(), want.data(), keys.size() * sizeof(T)), 0)
          << row.name << " " << name << " in " << tuning.device_memory << " bytes";
    });
  }
};

TEST_F(CudaRuns, ServeKeysThatADeviceDoesNotHold) {
  for (const std::string_view name : {"uniform", "zipf", "all_equal", "reverse"}) {
    for (const Order order : {Order::ascending, Order::descending}) {
      check_keys<std::uint32_t>(order, name);
      check_keys<std::int64_t>(order, name);
      if (name == "uniform") check_keys<double>(order, name);
      if (name == "uniform") check_keys<float>(order, name);
    }
  }
}

TEST_F(CudaRuns, KeepTheOrderOfEqualKeys) {
  const index_t n = 700001;
  for (const std::uint64_t range : {std::uint64_t{3}, std::uint64_t{1} << 20}) {
    std::vector<Pair> made;
    for (index_t i = 0; i < n; ++i)
      made.push_back({random_bits(8, 0, i) % range, static_cast<std::uint64_t>(i)});
    std::vector<Pair> want = made;
    std::sort(want.begin(), want.end());
    for_rows(sizeof(Pair), [&](const Variant& row, const Tuning& tuning) {
      std::vector<Pair> pairs = made, scratch(pairs.size());
      sort_pairs(row.name, pairs, scratch, tuning);
      ASSERT_TRUE(pairs == want) << row.name << " in " << tuning.device_memory << " bytes";
    });
  }
}

TEST_F(CudaRuns, AreRefusedWhereTheyWouldBeTooShort) {
  std::vector<std::uint64_t> keys(1 << 20), scratch(keys.size());
  EXPECT_THROW(sort_keys("cuda_radix", std::span(keys), std::span(scratch), Order::ascending,
                         {.device_memory = 1 << 20}),
               Error);
}

}  // namespace
}  // namespace tessera::sort
