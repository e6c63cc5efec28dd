// Division of 64-bit keys on the device, and detection of unsuitable ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/random.hpp"
#include "guarded.hpp"
#include "kernels/sort/cuda.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "machine/gpu.hpp"

namespace tessera::sort {
namespace {

namespace cuda = machine::cuda;

/// Memory allocated for some number of keys suffices for fewer.
TEST(CudaHybridBytes, GrowWithTheKeys) {
  index_t before = 0;
  for (index_t keys = 1; keys < index_t{1} << 34; keys += keys / 16 + 1) {
    const index_t bytes = cuda_hybrid_bytes<std::uint64_t, NoValue>(keys);
    EXPECT_GE(bytes, before) << keys;
    before = bytes;
  }
}

class CudaHybrid : public testing::Test {
 protected:
  using Key = std::uint64_t;
  static constexpr index_t n = (index_t{1} << 24) + 4321;

  void SetUp() override {
    const machine::Gpus gpus = machine::gpus();
    if (gpus.devices.empty()) GTEST_SKIP() << "no device: " << gpus.reason;
    if (!bucket_kernels()->fits()) GTEST_SKIP() << "too little shared memory, or code of 7.x";
  }
  template <class KeyOf>
  static std::vector<Key> keys_of(const KeyOf& key_of, index_t count = n) {
    std::vector<Key> keys(static_cast<std::size_t>(count));
    for (index_t i = 0; i < count; ++i)
      keys[static_cast<std::size_t>(i)] = key_of(random_bits(8, 1, i), i);
    return keys;
  }
  /// Sorts, checks, and returns whether the keys were divided.
  static bool divided(std::vector<Key> raw, const KeyMap<Key>& map = {}) {
    const auto count = static_cast<index_t>(raw.size());
    Guarded<Key> keys(count), spare(count);
    Guarded<std::byte> work(cuda_hybrid_bytes<Key, NoValue>(std::max(count, n)));
    keys.put(raw);
    const cuda::Stream stream;
    const DeviceBlock<Key, NoValue> block{.keys = keys.data(),
                                          .spare_keys = spare.data(),
                                          .n = count,
                                          .map = map,
                                          .work = work.data()};
    (count < n ? cuda_divide : cuda_hybrid<Key, NoValue>)(block, stream);
    stream.wait();
    for (Key& key : raw) key = map.to_bits(key);
    sort_keys<Key>("auto", raw, machine::default_threads());
    for (Key& key : raw) key = map.to_raw(key);
    EXPECT_TRUE(keys.take() == raw);
    EXPECT_TRUE(keys.sentinels_stand() && spare.sentinels_stand() && work.sentinels_stand());
    return cuda_divided(work.data());
  }
};

TEST_F(CudaHybrid, DividesWhatIsSpreadEvenly) {
  EXPECT_TRUE(divided(keys_of([](Key random, index_t) { return random; })));
  EXPECT_TRUE(divided(keys_of([](Key random, index_t) { return random; }),
                      key_map<std::int64_t>(Order::descending)));
  EXPECT_TRUE(divided(keys_of([](Key random, index_t) { return random >> 20 | Key{5} << 50; })));
  EXPECT_TRUE(divided(keys_of([](Key, index_t i) { return static_cast<Key>(n - i) << 39; })));
  std::vector<Key> doubles = keys_of([](Key random, index_t) {
    return std::bit_cast<Key>(1.0 + static_cast<double>(random >> 11) * 0x1p-53);
  });
  EXPECT_TRUE(divided(doubles, key_map<double>(Order::ascending)));
}

/// Parts in which many keys share the bits that select bins: equal keys, and others.
TEST_F(CudaHybrid, SortsPartsWhoseKeysLieTogether) {
  EXPECT_TRUE(divided(keys_of([](Key random, index_t) { return random >> 48 << 48; })));
  EXPECT_TRUE(
      divided(keys_of([](Key random, index_t) { return random >> 48 << 48 | (random & 0xfff); })));
  EXPECT_TRUE(divided(keys_of([](Key random, index_t i) {
    return i % 3 == 0 ? random >> 50 << 50 | (random & 0x3f) : random;
  })));
}

TEST_F(CudaHybrid, SweepsWhatIsNot) {
  EXPECT_FALSE(
      divided(keys_of([](Key random, index_t i) { return random & random_bits(8, 2, i); })));
  EXPECT_FALSE(divided(keys_of([](Key random, index_t) { return random >> 40; })));
  // One value more often than a block has room; one key with different leading bits, outside of the
  // sample.
  EXPECT_FALSE(divided(
      keys_of([](Key random, index_t i) { return i % 1000 == 1 ? Key{1} << 63 : random; })));
  EXPECT_FALSE(
      divided(keys_of([](Key random, index_t i) { return i == 12345 ? ~Key{0} : random >> 8; })));
  EXPECT_FALSE(
      divided(keys_of([](Key, index_t i) { return static_cast<Key>(i) << 30; })));  // in order
  std::vector<Key> gaussian(static_cast<std::size_t>(n));
  generate<Key>(input("gaussian"), 3, 0, n, gaussian);
  (void)divided(gaussian);
}

/// Few keys, as they take about 1000 times as long, ordered by bins and by networks.
TEST_F(CudaHybrid, DividesUnderACheck) {
  constexpr index_t few = (1 << 18) + 4321;
  EXPECT_TRUE(divided(keys_of([](Key random, index_t) { return random; }, few)));
  EXPECT_TRUE(divided(
      keys_of([](Key random, index_t) { return random >> 52 << 52 | (random & 0xfff); }, few),
      key_map<std::int64_t>(Order::descending)));
  EXPECT_FALSE(divided(
      keys_of([](Key random, index_t i) { return i == 12345 ? ~Key{0} : random >> 8; }, few)));
}

/// The maximum numbers of buckets and parts.
TEST_F(CudaHybrid, DividesAsManyKeysAsItServes) {
  if (machine::gpus().devices.front().memory_bytes < index_t{60} << 30)
    GTEST_SKIP() << "needs 60 GiB of device memory";
  const index_t many = (index_t{1} << 31) + 54321;
  machine::Buffer<Key> raw(many);
  const auto all = [&](const auto& body) {
    machine::parallel(machine::default_threads(), [&] {
      machine::parallel_for(0, many, 1 << 20, [&](index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) body(i);
      });
    });
  };
  std::atomic<Key> before = 0, after = 0;
  std::atomic<index_t> descents = 0;
  all([&](index_t i) { raw[i] = random_bits(9, 1, i); });
  const auto sum = [&](std::atomic<Key>& to) {
    machine::parallel(machine::default_threads(), [&] {
      machine::parallel_for(0, many, 1 << 20, [&](index_t begin, index_t end) {
        Key part = 0;
        for (index_t i = begin; i < end; ++i) part += mix64(raw[i]);
        to += part;
      });
    });
  };
  sum(before);
  const cuda::DeviceBuffer<Key> keys(many), spare(many);
  const cuda::DeviceBuffer<std::byte> work(cuda_hybrid_bytes<Key, NoValue>(many));
  const auto copy = [&](Key* to, const Key* from, cudaMemcpyKind kind) {
    cuda::check(cudaMemcpy(to, from, static_cast<std::size_t>(many) * sizeof(Key), kind),
                "cudaMemcpy");
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  };
  copy(keys.data(), raw.data(), cudaMemcpyHostToDevice);
  const cuda::Stream stream;
  cuda_hybrid<Key, NoValue>(
      {.keys = keys.data(), .spare_keys = spare.data(), .n = many, .work = work.data()}, stream);
  stream.wait();
  EXPECT_TRUE(cuda_divided(work.data()));
  copy(raw.data(), keys.data(), cudaMemcpyDeviceToHost);
  sum(after);
  all([&](index_t i) {
    if (i > 0 && raw[i - 1] > raw[i]) ++descents;
  });
  EXPECT_EQ(descents, 0);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace tessera::sort
