#include "kernels/sort/radix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/hash.hpp"
#include "kernels/sort/permute_chunks.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

using Sources = std::vector<std::uint32_t>;

Sources identity(std::size_t n) {
  Sources order(n);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

TEST(ChunkCycles, TakesEveryChunkToItsSlot) {
  constexpr index_t chunk = 8;
  for (const std::size_t n : {0u, 1u, 2u, 255u, 256u, 257u, 5000u}) {
    std::vector<Sources> orders{identity(n), identity(n), identity(n), identity(n)};
    std::reverse(orders[1].begin(), orders[1].end());
    for (std::size_t i = n; i > 1; --i) std::swap(orders[2][i - 1], orders[2][mix64(i) % i]);
    std::rotate(orders[3].begin(), orders[3].begin() + static_cast<std::ptrdiff_t>(n / 3),
                orders[3].end());
    for (const Sources& order : orders) {
      for (const int threads : {1, 3}) {
        machine::Buffer<std::uint64_t> data(static_cast<index_t>(n) * chunk);
        std::iota(data.begin(), data.end(), 0u);
        Sources source = order;
        machine::parallel(
            threads, [&] { ChunkCycles<std::uint64_t>(data.data(), chunk, source).permute(); });
        for (index_t i = 0; i < data.size(); ++i)
          ASSERT_EQ(data[i], order[static_cast<std::size_t>(i / chunk)] * chunk +
                                 static_cast<std::uint64_t>(i % chunk))
              << n;
      }
    }
  }
}

/// Returns keys that fill buckets in different patterns.
std::vector<std::uint64_t> make(int kind, index_t n) {
  std::vector<std::uint64_t> keys;
  for (index_t i = 0; i < n; ++i) {
    const std::uint64_t any = mix64(static_cast<std::uint64_t>(i));
    const auto block = static_cast<std::uint64_t>(i / 128);  // as many as a chunk contains
    switch (kind) {
      case 0:
        keys.push_back(any);
        break;
      case 1:
        keys.push_back(block << 56 | any >> 8);
        break;  // whole chunks, alternating
      case 2:
        keys.push_back(any % 3 == 0 ? any : any >> 40);
        break;  // one bucket has most keys
      case 3:
        keys.push_back((any % 5) << 40);
        break;  // few values
      default:
        keys.push_back(i < n / 2 ? any | 1ull << 63 : any >> 1);
        break;  // tasks share no bucket
    }
  }
  return keys;
}
constexpr int kinds = 5;
constexpr index_t sizes[] = {65537, 65536 + 127, 100003, 3 << 16};  // more than two buckets' worth

TEST(Radix, SortsInPlaceHoweverBucketsFillTheirChunks) {
  constexpr std::uint64_t untouched = 77;
  for (int kind = 0; kind < kinds; ++kind) {
    for (const index_t n : sizes) {
      const std::vector<std::uint64_t> keys = make(kind, n);
      std::vector<std::uint64_t> want = keys;
      std::sort(want.begin(), want.end());
      for (const int threads : {1, 2, 3}) {
        for (const index_t offset : {0, 1}) {  // aligned to a line or not
          machine::Buffer<std::uint64_t> data(n + 2), scratch(n);
          std::fill(data.begin(), data.end(), untouched);
          std::fill(scratch.begin(), scratch.end(), untouched);
          std::uint64_t* const first = data.data() + offset;
          std::copy(keys.begin(), keys.end(), first);
          machine::parallel(threads, [&] {
            radix(Block<std::uint64_t>{first, scratch.data(), n});
          });
          ASSERT_TRUE(std::equal(want.begin(), want.end(), first)) << "kind " << kind << " n " << n;
          ASSERT_EQ(first[n], untouched);
          ASSERT_TRUE(offset == 0 || data[0] == untouched);
          ASSERT_TRUE(kind != 0 || std::count(scratch.begin(), scratch.end(), untouched) == n);
        }
      }
    }
  }
}

TEST(Radix, KeepsPairsInOrderHoweverBucketsFillTheirChunks) {
  for (int kind = 0; kind < kinds; ++kind) {
    for (const index_t n : sizes) {
      std::vector<Pair> pairs;
      for (const std::uint64_t key : make(kind, n)) pairs.push_back({key, pairs.size()});
      std::vector<Pair> want = pairs;
      std::sort(want.begin(), want.end());
      for (const int threads : {1, 2, 3}) {
        machine::Buffer<Pair> data(n), scratch(n);
        std::copy(pairs.begin(), pairs.end(), data.begin());
        machine::parallel(threads, [&] { radix(Block<Pair>{data.data(), scratch.data(), n}); });
        ASSERT_TRUE(std::equal(want.begin(), want.end(), data.begin()))
            << "kind " << kind << " n " << n;
      }
    }
  }
}

/// Buckets with more keys than a worker's memory: half of the keys, or nine tenths, differ in bits
/// far below those that a sample's slices distinguish, or all but one, which no sample contains.
TEST(Radix, DistributesHeavyBucketsAgainOrSortsThemAlone) {
  constexpr index_t n = 600011;
  constexpr std::uint64_t middle = 1ull << 62;
  for (const std::uint64_t others : {5u, 1u, 0u}) {  // of ten keys
    std::vector<std::uint64_t> keys;
    for (index_t i = 0; i < n; ++i) {
      const std::uint64_t any = mix64(static_cast<std::uint64_t>(i));
      keys.push_back(any % 10 < others ? any : middle + (others > 0 ? any >> 44 : 1));
    }
    if (others == 0) keys.back() = middle;
    std::vector<Pair> pairs;
    for (const std::uint64_t key : keys) pairs.push_back({key, pairs.size()});
    auto want = keys;
    auto want_pairs = pairs;
    std::sort(want.begin(), want.end());
    std::sort(want_pairs.begin(), want_pairs.end());
    for (const int threads : {1, 3}) {
      auto data = keys, scratch = keys;
      auto data_of_pairs = pairs, scratch_of_pairs = pairs;
      machine::parallel(threads, [&] {
        radix(Block<std::uint64_t>{data.data(), scratch.data(), n});
        radix(Block<Pair>{data_of_pairs.data(), scratch_of_pairs.data(), n});
      });
      EXPECT_TRUE(data == want) << others << " of ten, threads " << threads;
      EXPECT_TRUE(data_of_pairs == want_pairs) << others << " of ten, threads " << threads;
    }
  }
}

}  // namespace
}  // namespace tessera::sort
