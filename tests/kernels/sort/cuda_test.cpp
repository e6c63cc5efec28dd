// Device sorts on resident data: keys only, with values, with positions. sort_test.cpp tests the
// rows of the table, which copy from the host and back, with all others.

#include "kernels/sort/cuda.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "guarded.hpp"
#include "kernels/sort/inputs.hpp"
#include "machine/buffer.hpp"
#include "machine/cuda.hpp"
#include "machine/fork_join.hpp"
#include "machine/gpu.hpp"

namespace tessera::sort {
namespace {

namespace cuda = machine::cuda;

template <class Key, class Value>
struct DeviceSort {
  std::string_view name;
  void (*sort)(const DeviceBlock<Key, Value>&, DeviceStream);
  index_t (*bytes)(index_t);
  bool small_range_only;
};

template <class Key, class Value>
std::vector<DeviceSort<Key, Value>> device_sorts() {
  constexpr bool counts = std::is_same_v<Value, NoValue>;
  return {{"cuda_radix", cuda_radix<Key, Value>, cuda_radix_bytes<Key, Value>, false},
          {"cuda_hybrid", cuda_hybrid<Key, Value>, cuda_hybrid_bytes<Key, Value>, false},
          {"cuda_merge", cuda_merge<Key, Value>, cuda_merge_bytes<Key, Value>, false},
          {"cuda_counting", cuda_counting<Key, Value>, cuda_counting_bytes<Key, Value>, counts},
          {"cub", cub<Key, Value>, cub_bytes<Key, Value>, false}};
}

template <class Key_, class Value_, Payload payload_ = Payload::values>
struct Kind {
  using Key = Key_;
  using Value = Value_;
  static constexpr Payload payload = payload_;
  static constexpr bool valued = !std::is_same_v<Value, NoValue>;
};

template <class Key>
std::vector<Key> made(std::string_view name, index_t n) {
  std::vector<Key> keys(static_cast<std::size_t>(n));
  generate<Key>(input(name), 11, 0, n, keys);
  return keys;
}

template <class K>
class CudaSort : public testing::Test {
 protected:
  using Key = typename K::Key;
  using Value = typename K::Value;
  using Stored = std::conditional_t<K::valued, Value, std::uint32_t>;

  void SetUp() override {
    const machine::Gpus gpus = machine::gpus();
    if (gpus.devices.empty()) GTEST_SKIP() << "no device: " << gpus.reason;
  }

  static std::vector<Stored> some_values(std::size_t n) {
    std::vector<Stored> values(n);
    for (std::size_t i = 0; i < n; ++i)
      values[i] = static_cast<Stored>(random_bits(3, 1, static_cast<index_t>(i)));
    return values;
  }

  /// Compares raw keys by `map`, with values, with std::stable_sort; all but the first `skipped`.
  static void check(const DeviceSort<Key, Value>& variant, const std::vector<Key>& raw,
                    const KeyMap<Key>& map, const std::string& what, index_t skipped = 0) {
    const auto n = static_cast<index_t>(raw.size());
    Guarded<Key> keys(n), spare_keys(n);
    Guarded<Stored> values(n), spare_values(n);
    Guarded<std::byte> work(variant.bytes(n));
    const std::vector<Stored> before = some_values(raw.size());
    keys.put(raw);
    if (K::payload == Payload::values) values.put(before);
    DeviceBlock<Key, Value> block{.keys = keys.data() + skipped,
                                  .spare_keys = spare_keys.data() + skipped,
                                  .n = n - skipped,
                                  .map = map,
                                  .payload = K::payload,
                                  .work = work.data()};
    if constexpr (K::valued) {
      block.values = values.data() + skipped;
      block.spare_values = spare_values.data() + skipped;
    }
    const cuda::Stream stream;
    variant.sort(block, stream);
    stream.wait();
    std::vector<std::size_t> order(raw.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin() + skipped, order.end(), [&](std::size_t a, std::size_t b) {
      return map.to_bits(raw[a]) < map.to_bits(raw[b]);
    });
    const std::vector<Key> got_keys = keys.take();
    const std::vector<Stored> got_values = values.take();
    const auto first = static_cast<std::size_t>(skipped);
    for (std::size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(got_keys[i], raw[order[i]])
          << variant.name << " key " << i << " of " << n << " " << what;
      if (!K::valued || i < first) continue;
      const Stored want = K::payload == Payload::positions ? static_cast<Stored>(order[i] - first)
                                                           : before[order[i]];
      ASSERT_EQ(got_values[i], want)
          << variant.name << " value " << i << " of " << n << " " << what;
    }
    ASSERT_TRUE(keys.sentinels_stand() && spare_keys.sentinels_stand() &&
                values.sentinels_stand() && spare_values.sentinels_stand() &&
                work.sentinels_stand())
        << variant.name << " wrote outside its memory, n " << n << " " << what;
  }

  static void check_sizes(const std::vector<index_t>& sizes, std::string_view name) {
    for (const index_t n : sizes) {
      std::vector<Key> keys = made<Key>(name, n);
      for (const auto& variant : device_sorts<Key, Value>()) {
        std::vector<Key> served = keys;
        if (variant.small_range_only) {
          for (Key& key : served) key = static_cast<Key>(key % 100003 + 17);
        }
        check(variant, served, {}, std::string(name));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
};
using Kinds = testing::Types<Kind<std::uint32_t, NoValue>, Kind<std::uint64_t, NoValue>,
                             Kind<std::uint32_t, std::uint32_t>, Kind<std::uint64_t, std::uint32_t>,
                             Kind<std::uint64_t, std::uint64_t>,
                             Kind<std::uint32_t, std::uint32_t, Payload::positions>,
                             Kind<std::uint64_t, std::uint64_t, Payload::positions>>;
TYPED_TEST_SUITE(CudaSort, Kinds);

/// Tiles are multiples of 128 items.
TYPED_TEST(CudaSort, ServesSizesAboutEveryTileBorder) {
  std::vector<index_t> sizes{0, 1, 2, 31, 32, 33};
  for (index_t border = 2048; border <= 9216; border += 128) {
    for (const index_t n : {border - 1, border, border + 1}) sizes.push_back(n);
  }
  this->check_sizes(sizes, "uniform");
}

TYPED_TEST(CudaSort, ServesAFewSizesUnderACheck) {
  this->check_sizes({33, 20011}, "entropy_0.337");  // one tile, and several with look-back
}

TYPED_TEST(CudaSort, ServesEveryInput) {
  for (const Input& in : inputs()) {
    this->check_sizes({5000, 300007}, in.name);
    if (this->HasFatalFailure()) return;
  }
}

/// Keys in order except for one, at any position.
TYPED_TEST(CudaSort, SeesOneDescentAmongKeysInOrder) {
  using Word = typename TypeParam::Key;
  const auto radix = device_sorts<Word, typename TypeParam::Value>().front();
  const auto n = static_cast<std::size_t>(300007);
  std::vector<Word> ordered(n);
  for (std::size_t i = 0; i < n; ++i) ordered[i] = static_cast<Word>(i / 3 + 5);
  this->check(radix, ordered, {}, "in order");
  for (const std::size_t at :
       {std::size_t{1}, std::size_t{31}, std::size_t{32}, std::size_t{33}, std::size_t{511},
        std::size_t{512}, std::size_t{513}, std::size_t{4095}, std::size_t{4096}, std::size_t{4097},
        std::size_t{123456}, n - 1}) {
    std::vector<Word> keys = ordered;
    keys[at] = static_cast<Word>(keys[at - 1] - 1);
    this->check(radix, keys, {}, "one descent at " + std::to_string(at));
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(CudaSort, ServesArraysThatBeginAnywhere) {
  for (const auto& variant : device_sorts<typename TypeParam::Key, typename TypeParam::Value>()) {
    if (variant.small_range_only || variant.name == "cub") continue;
    for (const index_t skipped : {1, 2, 3}) {
      this->check(variant, made<typename TypeParam::Key>("uniform", 40009), {},
                  "not from the start", skipped);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(CudaSort, SweepsOnlyTheDigitsThatVary) {
  using Word = typename TypeParam::Key;
  constexpr int digits = static_cast<int>(sizeof(Word));
  for (unsigned varying = 0; varying < 1U << digits; varying += digits == 4 ? 1 : 11) {
    Word mask = 0;
    for (int d = 0; d < digits; ++d)
      mask |= static_cast<Word>(varying >> d & 1) * (Word{0xff} << (8 * d));
    std::vector<Word> keys = made<Word>("uniform", 9001);
    for (Word& key : keys)
      key = static_cast<Word>((key & mask) | (static_cast<Word>(0x1234567812345678) & ~mask));
    this->check(device_sorts<Word, typename TypeParam::Value>().front(), keys, {},
                "mask " + std::to_string(mask));
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(CudaSort, OrdersByTheMapAndKeepsTheBits) {
  using Word = typename TypeParam::Key;
  using Float = std::conditional_t<sizeof(Word) == 4, float, double>;
  using L = std::numeric_limits<Float>;
  const std::vector<Float> values{
      L::infinity(),   -L::infinity(),   Float{0}, Float{-0.0}, L::quiet_NaN(),
      -L::quiet_NaN(), L::denorm_min(),  L::max(), L::lowest(), Float{1},
      Float{-1},       -L::denorm_min(), Float{2}};
  for (const index_t n : {13, 20011}) {
    std::vector<Word> raw;
    for (index_t i = 0; i < n; ++i)
      raw.push_back(std::bit_cast<Word>(values[random_bits(5, 0, i) % values.size()]));
    for (const Order order : {Order::ascending, Order::descending}) {
      for (const auto& variant : device_sorts<Word, typename TypeParam::Value>()) {
        if (variant.small_range_only) continue;
        this->check(variant, raw, key_map<Float>(order), "floats");
        if (this->HasFatalFailure()) return;
        this->check(variant, raw, key_map<std::make_signed_t<Word>>(order), "signed integers");
        if (this->HasFatalFailure()) return;
      }
    }
  }
}

TEST(CudaCounting, RefusesTooWideARange) {
  const machine::Gpus gpus = machine::gpus();
  if (gpus.devices.empty()) GTEST_SKIP() << "no device: " << gpus.reason;
  Guarded<std::uint64_t> keys(3), spare(3);
  Guarded<std::byte> work(cuda_counting_bytes<std::uint64_t, NoValue>(3));
  keys.put({1, ~std::uint64_t{0}, 3});
  const cuda::Stream stream;
  EXPECT_THROW(
      (cuda_counting<std::uint64_t, NoValue>(
          {.keys = keys.data(), .spare_keys = spare.data(), .n = 3, .work = work.data()}, stream)),
      Error);
}

/// More keys than one launch sorts: each launch continues after the last.
TEST(CudaRadix, JoinsThePortionsOfManyKeys) {
  const machine::Gpus gpus = machine::gpus();
  if (gpus.devices.empty()) GTEST_SKIP() << "no device: " << gpus.reason;
  if (gpus.devices.front().memory_bytes < index_t{12} << 30)
    GTEST_SKIP() << "needs 12 GiB of device memory";
  const index_t n = (index_t{1} << 28) + 12345;
  machine::Buffer<std::uint32_t> raw(n), sorted(n), from(n);
  machine::parallel(machine::default_threads(),
                    [&] { generate<std::uint32_t>(input("entropy_0.544"), 2, 0, n, raw.span()); });
  const cuda::DeviceBuffer<std::uint32_t> keys(n), spare_keys(n), values(n), spare_values(n);
  const cuda::DeviceBuffer<std::byte> work(cuda_radix_bytes<std::uint32_t, std::uint32_t>(n));
  const auto copy = [&](std::uint32_t* to, const std::uint32_t* at, cudaMemcpyKind kind) {
    cuda::check(cudaMemcpy(to, at, static_cast<std::size_t>(n) * 4, kind), "cudaMemcpy");
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  };
  copy(keys.data(), raw.data(), cudaMemcpyHostToDevice);
  const cuda::Stream stream;
  cuda_radix<std::uint32_t, std::uint32_t>({keys.data(),
                                            spare_keys.data(),
                                            values.data(),
                                            spare_values.data(),
                                            n,
                                            {},
                                            Payload::positions,
                                            work.data()},
                                           stream);
  stream.wait();
  copy(sorted.data(), keys.data(), cudaMemcpyDeviceToHost);
  copy(from.data(), values.data(), cudaMemcpyDeviceToHost);
  std::atomic<index_t> wrong =
      0;  // strictly ascending (key, position), the right key: a permutation, stable, sorted
  const auto is_wrong = [&](index_t i) {
    if (static_cast<index_t>(from[i]) >= n || raw[from[i]] != sorted[i]) return true;
    return i > 0 &&
           (sorted[i - 1] > sorted[i] || (sorted[i - 1] == sorted[i] && from[i - 1] >= from[i]));
  };
  machine::parallel(machine::default_threads(), [&] {
    machine::parallel_for(0, n, 1 << 20, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) wrong += is_wrong(i) ? 1 : 0;
    });
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tessera::sort
