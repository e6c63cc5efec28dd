#include "kernels/sort/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/hash.hpp"
#include "kernels/sort/keys.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

TYPED_TEST_SUITE(Keys, KeyTypes);

/// The hash of one key, written out.
std::uint64_t hash_of(std::uint64_t key, std::uint64_t seed) {
  const std::uint64_t mixed = (key ^ (key >> 32) ^ mix64(seed)) * (mix64(~seed) | 1);
  const std::uint64_t high = mixed >> 32;
  return ((mixed ^ high) & 0xffffffff) * high;
}
std::uint64_t hash_of(std::uint32_t key, std::uint64_t seed) {
  const auto flip = static_cast<std::uint32_t>(mix64(seed));
  const std::uint32_t mixed = (key ^ (key >> 16) ^ flip) * (static_cast<std::uint32_t>(mix64(~seed)) | 1);
  const std::uint64_t word = mixed ^ (mixed >> 16);
  return word * word;
}

TYPED_TEST(Keys, InspectionIsHashAndOrderOfEveryKey) {
  using T = TypeParam;
  auto keys = make<T>("uniform", 70003);
  for (const T key : specials<T>()) keys.push_back(key);
  for (const Order order : {Order::ascending, Order::descending}) {
    const auto map = key_map<T>(order);
    const auto bits = [&](T key) { return map.to_bits(std::bit_cast<Bits<T>>(key)); };
    std::sort(keys.begin(), keys.end(), [&](T a, T b) { return bits(a) < bits(b); });
    for (const std::size_t from : {0U, 1U, 5U, 17U}) {
      for (const std::size_t n : {0U, 1U, 2U, 9U, 63U, 69000U}) {
        const auto some = std::span<T>(keys).subspan(from, n);
        const Inspection seen = inspect(std::span<const T>(some), order, 5);
        EXPECT_TRUE(seen.sorted) << "from " << from << " n " << n;
        std::uint64_t hash = 0;
        for (const T key : some) hash += hash_of(std::bit_cast<Bits<T>>(key), 5);
        EXPECT_EQ(seen.content, (Content{static_cast<index_t>(n), hash}));
        EXPECT_EQ(content(std::span<const T>(some), 5), seen.content);
        if (n < 2 || bits(some.front()) == bits(some.back())) continue;
        for (const std::size_t at : {n - 2, n / 2}) {  // one pair of neighbours
          if (at + 1 >= n || bits(some[at]) == bits(some[at + 1])) continue;
          std::swap(some[at], some[at + 1]);
          EXPECT_FALSE(inspect(std::span<const T>(some), order, 5).sorted) << "n " << n << " at " << at;
          std::swap(some[at], some[at + 1]);
        }
      }
    }
  }
}

TYPED_TEST(Keys, VerificationSeesOrderAndContent) {
  auto keys = make<TypeParam>("uniform", 100003);
  const Content before = content<TypeParam>(keys, 1);
  EXPECT_EQ(before.count, 100003);
  EXPECT_FALSE(is_sorted<TypeParam>(keys));
  std::vector<TypeParam> scratch(keys.size());
  sort_keys<TypeParam>("auto", keys, scratch);
  EXPECT_TRUE(is_sorted<TypeParam>(keys));
  EXPECT_EQ(content<TypeParam>(keys, 1), before);
  std::swap(keys[77777], keys[77778]);
  EXPECT_FALSE(is_sorted<TypeParam>(keys));
  EXPECT_EQ(content<TypeParam>(keys, 1), before);
  keys[5] = keys[6];
  EXPECT_NE(content<TypeParam>(keys, 1), before);
}

TYPED_TEST(Keys, HashSeesKeysOfOneSum) {
  using T = TypeParam;
  using B = Bits<T>;
  const auto key = [](std::uint64_t number, int shift) {
    return std::bit_cast<T>(static_cast<B>(static_cast<B>(number) << shift));
  };
  constexpr int width = 8 * sizeof(B);
  for (std::uint64_t s = 0; s < 1000; ++s) {
    for (const int shift : {0, width / 2 - 2, width - 11}) {
      const auto hash = [&](std::vector<T> keys) { return content(std::span<const T>(keys), s).hash; };
      EXPECT_NE(hash({key(1, shift), key(4, shift)}), hash({key(2, shift), key(3, shift)}));
      EXPECT_NE(hash({key(0, shift), key(4, shift), key(5, shift)}),  // and of one sum of squares
                hash({key(1, shift), key(2, shift), key(6, shift)}));
      EXPECT_NE(hash({key(1025, shift), key(2, shift)}), hash({key(1, shift), key(1026, shift)}));
    }
  }
}

TYPED_TEST(Keys, WatchSeesWhatInspectionSees) {
  using T = TypeParam;
  auto keys = make<T>("gaussian", 300007);
  std::vector<T> scratch(keys.size());
  const Content before = content<T>(keys, 3);
  Watch<T> watch(keys, Order::descending, 3);
  index_t told = 0;
  std::mutex mutex;
  machine::parallel(2, [&] {
    sort_keys<T>("radix", keys, scratch, Order::descending, {}, [&](const void* first, index_t n) {
      watch.saw(first, n);
      const std::lock_guard lock(mutex);
      told += n;
    });
  });
  EXPECT_GT(told, 250000);
  const Inspection seen = watch.conclude();
  EXPECT_TRUE(seen.sorted);
  EXPECT_EQ(seen.content, before);
}

TYPED_TEST(Keys, WatchFindsKeysInOrderAndNoOthers) {
  using T = TypeParam;
  for (const index_t n :
       {index_t{0}, index_t{1}, index_t{100001}, (index_t{17} << 20) / index_t{sizeof(T)}}) {
    auto keys = make<T>("sorted", n);
    const std::span<const T> view(keys);
    Watch<T> watch(view, Order::ascending, 3);
    EXPECT_TRUE(watch.finds_order(2));
    const Inspection seen = watch.conclude();
    EXPECT_TRUE(seen.sorted);
    EXPECT_EQ(seen.content, content(view, 3));
    if (n < 3) continue;
    for (const index_t at : {index_t{1}, n / 2, n - 1}) {
      auto some = keys;
      some[static_cast<std::size_t>(at)] = some[0];
      if (at == 1) std::swap(some[0], some[2]);
      Watch<T> other(some, Order::ascending, 3);
      EXPECT_FALSE(other.finds_order(2)) << at;
      EXPECT_FALSE(other.conclude().sorted);
    }
  }
}

TYPED_TEST(Keys, WatchIsToldOfReversedKeys) {
  using T = TypeParam;
  for (const index_t n : {index_t{2}, index_t{300007}}) {
    auto keys = make<T>("reverse", n);
    const Content before = content<T>(keys, 3);
    Watch<T> watch(keys, Order::ascending, 3);
    index_t told = 0;
    EXPECT_TRUE(sort_ordered<T>(keys, 1, Order::ascending, [&](const void* first, index_t some) {
      watch.saw(first, some);
      told += some;
    }));
    EXPECT_EQ(told, n / 2 * 2);
    const Inspection seen = watch.conclude();
    EXPECT_TRUE(seen.sorted);
    EXPECT_EQ(seen.content, before);
  }
}

TYPED_TEST(Keys, WatchMindsBordersGapsAndOverlaps) {
  using T = TypeParam;
  auto keys = make<T>("sorted", 10000);
  const auto look = [&](std::vector<std::pair<index_t, index_t>> parts, const std::function<void()>& then) {
    Watch<T> watch(keys, Order::ascending, 3);
    for (const auto& [begin, end] : parts) watch.saw(keys.data() + begin, end - begin);
    then();
    const Inspection seen = watch.conclude();
    EXPECT_EQ(seen.content.count, 10000);
    return seen;
  };
  const Inspection whole = inspect(std::span<const T>(keys), Order::ascending, 3);
  EXPECT_TRUE(whole.sorted);
  using Parts = std::vector<std::pair<index_t, index_t>>;
  for (const Parts& parts :
       {Parts{}, Parts{{0, 10000}}, Parts{{5000, 10000}, {0, 5000}}, Parts{{20, 30}, {4000, 9000}},
        Parts{{0, 6000}, {5000, 10000}}, Parts{{0, 10000}, {0, 10000}}}) {
    const Inspection seen = look(parts, [] {});
    EXPECT_TRUE(seen.sorted);
    EXPECT_EQ(seen.content, whole.content);
  }
  const auto spoil_end = [&] { keys[4999] = keys[0]; };  // behind the watch's back
  const Inspection spoilt = look({{0, 5000}, {5000, 10000}}, spoil_end);
  EXPECT_FALSE(spoilt.sorted);
  EXPECT_NE(spoilt.content, whole.content);
  keys = make<T>("sorted", 10000);
  std::swap_ranges(keys.begin(), keys.begin() + 5000, keys.begin() + 5000);
  EXPECT_FALSE(look({{0, 5000}, {5000, 10000}}, [] {}).sorted);
  EXPECT_FALSE(look({{5000, 10000}}, [] {}).sorted);
}

/// The hash of rows, written out: the same on every instruction set.
std::uint64_t hash_of(const IndexedRows& rows, std::uint64_t seed) {
  const std::uint64_t flip = mix64(seed), factor = mix64(~seed) | 1;
  const std::uint64_t of_index = (std::rotl(flip, 32) ^ factor) | 1;
  const std::uint64_t of_place = (factor << 32 | factor >> 32 | 1) + (flip << 1);
  std::uint64_t sum = 0;
  for (index_t j = 0; j < rows.n; ++j) {
    const std::uint64_t index =
        rows.indices != nullptr ? rows.indices[j] : rows.first + static_cast<std::uint64_t>(j);
    const index_t words = ceil_div(rows.bytes, index_t{8});
    for (index_t w = 0; w < words; ++w) {
      std::uint64_t word = 0;
      std::memcpy(&word, rows.data + j * rows.bytes + 8 * w,
                  static_cast<std::size_t>(std::min<index_t>(8, rows.bytes - 8 * w)));
      sum += hash_of(word + index * of_index + static_cast<std::uint64_t>(w) * of_place, seed);
    }
  }
  return sum;
}

TEST(HashIndexed, IsOfEveryWordWithItsRowAndPlace) {
  for (const index_t bytes :
       {1, 2, 3, 4, 7, 8, 12, 16, 20, 24, 40, 63, 64, 65, 72, 100, 120, 128, 136, 200}) {
    for (const index_t n : {0, 1, 7, 8, 1000, 30001}) {
      std::vector<std::byte> data(static_cast<std::size_t>(n * bytes));
      std::vector<std::uint64_t> order(static_cast<std::size_t>(n));
      for (std::size_t b = 0; b < data.size(); ++b) data[b] = static_cast<std::byte>(mix64(b));
      for (std::size_t j = 0; j < order.size(); ++j) order[j] = order.size() - 1 - j;
      for (const bool permuted : {false, true}) {
        const IndexedRows rows{data.data(), bytes, n, permuted ? order.data() : nullptr, 12345};
        std::uint64_t hash = 0;
        machine::parallel(2, [&] { hash = hash_indexed(rows, 9); });
        EXPECT_EQ(hash, hash_of(rows, 9)) << bytes << " bytes, n " << n;
      }
    }
  }
}

TEST(HashIndexed, SeesWhatIsChangedOrChangesPlaces) {
  for (const index_t bytes : {1, 4, 5, 8, 16, 36, 100, 136}) {
    constexpr index_t n = 100;
    std::vector<std::byte> data(static_cast<std::size_t>(n * bytes));
    for (std::size_t b = 0; b < data.size(); ++b) data[b] = static_cast<std::byte>(mix64(b) % 3);
    std::vector<std::uint64_t> order(n);
    for (std::size_t j = 0; j < order.size(); ++j) order[j] = (j * 37) % n;
    const auto hash = [&] { return hash_indexed({data.data(), bytes, n, order.data(), 0}, 4); };
    const std::uint64_t whole = hash();
    const auto row = [&](index_t j) { return data.begin() + j * bytes; };
    for (index_t b = 0; b < bytes; ++b) {
      for (const int bit : {0, 7}) {
        row(41)[b] ^= static_cast<std::byte>(1 << bit);
        EXPECT_NE(hash(), whole) << bytes << " bytes, byte " << b;
        row(41)[b] ^= static_cast<std::byte>(1 << bit);
      }
      std::byte& here = row(7)[b];
      std::byte& there = row(8)[bytes - 1 - b];
      if (here == there) continue;
      std::swap(here, there);  // parts of two rows
      EXPECT_NE(hash(), whole);
      std::swap(here, there);
    }
    for (index_t j = 0; j + 1 < n; ++j) {
      if (std::equal(row(j), row(j + 1), row(j + 1))) continue;
      std::swap_ranges(row(j), row(j + 1), row(j + 1));
      EXPECT_NE(hash(), whole) << bytes << " bytes, row " << j;
      std::swap_ranges(row(j), row(j + 1), row(j + 1));
    }
    std::swap(order[3], order[4]);
    EXPECT_TRUE(hash() != whole || std::equal(row(3), row(4), row(4)));
    std::swap(order[3], order[4]);
    std::copy(row(5), row(6), row(6));  // one lost, one twice
    row(6)[0] ^= std::byte{4};          // and not the same by chance
    EXPECT_NE(hash(), whole);
  }
}

/// Columns of these widths, any bytes, the same for the same row number.
struct SomeRows {
  std::vector<std::vector<std::byte>> data;
  std::vector<RowColumn> columns;
  SomeRows(const std::vector<index_t>& widths, const std::vector<std::uint64_t>& numbers) {
    for (const index_t width : widths) {
      std::vector<std::byte>& column = data.emplace_back();
      for (const std::uint64_t row : numbers) {
        for (index_t b = 0; b < width; ++b)
          column.push_back(static_cast<std::byte>(
              mix64(row * 1000 + data.size() * 200 + static_cast<std::uint64_t>(b)) % 5));
      }
    }
    for (std::size_t c = 0; c < widths.size(); ++c) columns.push_back({data[c].data(), widths[c]});
  }
  [[nodiscard]] std::uint64_t hash() const {
    return hash_of_rows(columns, static_cast<index_t>(data[0].size()) / columns[0].bytes, 3);
  }
};

TEST(HashOfRows, IsOfEveryWordWithItsPlaceInTheRow) {
  constexpr std::uint64_t seed = 3;
  const std::uint64_t flip = mix64(seed), factor = mix64(~seed) | 1;
  const std::uint64_t of_place = (factor << 32 | factor >> 32 | 1) + (flip << 1);
  for (const index_t width : {1, 2, 3, 4, 7, 8, 9, 12, 16, 24, 31, 32, 33, 40, 63, 64, 65, 72, 100, 136}) {
    for (const std::size_t n : std::initializer_list<std::size_t>{1, 7, 8, 9, 600}) {
      std::vector<std::uint64_t> numbers(n);
      std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
      const SomeRows rows({width, 5, width}, numbers);
      std::uint64_t want = 0;
      for (std::size_t j = 0; j < n; ++j) {
        std::uint64_t sum = 0, place = 0;
        for (const RowColumn& column : rows.columns) {
          for (index_t at = 0; at < column.bytes; at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, column.data + static_cast<index_t>(j) * column.bytes + at,
                        static_cast<std::size_t>(std::min<index_t>(8, column.bytes - at)));
            sum += hash_of(word + place++ * of_place, seed);
          }
        }
        want += hash_of(sum, mix64(seed));
      }
      EXPECT_EQ(rows.hash(), want) << width << " bytes, n " << n;
    }
  }
}

TEST(HashOfRows, IsThatOfTheSameRowsInAnyOrder) {
  std::vector<std::uint64_t> order(1300), turned;
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  turned.assign(order.rbegin(), order.rend());
  for (const std::vector<index_t>& widths :
       {std::vector<index_t>{8}, {8, 8}, {4, 1, 17}, {100}, {16, 64, 3}, {8, 0, 5}}) {
    const std::uint64_t whole = SomeRows(widths, order).hash();
    EXPECT_EQ(SomeRows(widths, turned).hash(), whole);
    for (std::size_t c = 0; c < widths.size(); ++c) {
      for (index_t b = 0; b < widths[c]; ++b) {
        SomeRows other(widths, order);
        other.data[c][static_cast<std::size_t>(700 * widths[c] + b)] ^= std::byte{8};
        EXPECT_NE(other.hash(), whole) << c << " " << b;
      }
      if (widths.size() == 1 || widths[c] < 3) continue;
      SomeRows other(widths, order);  // elements of two rows
      const auto row = [&](index_t j) { return other.data[c].begin() + j * widths[c]; };
      if (std::equal(row(3), row(4), row(4))) continue;
      std::swap_ranges(row(3), row(4), row(4));
      EXPECT_NE(other.hash(), whole) << c;
    }
    EXPECT_EQ(hash_of_rows(SomeRows(widths, order).columns, 0, 3), 0U);
  }
}

}  // namespace
}  // namespace tessera::sort
