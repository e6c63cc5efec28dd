// Hashes of rows: of rows with their indices, and of several columns.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/hash.hpp"
#include "kernels/sort/verify.hpp"
#include "kernels/sort/verify_kernels.hpp"
#include "machine/fork_join.hpp"

namespace tessera::sort {
namespace {

/// Returns the hash of one key by definition.
std::uint64_t hash_of(std::uint64_t key, std::uint64_t seed) {
  const std::uint64_t mixed = (key ^ (key >> 32) ^ mix64(seed)) * (mix64(~seed) | 1);
  const std::uint64_t high = mixed >> 32;
  return ((mixed ^ high) & 0xffffffff) * high;
}

/// Returns the 16-byte digests that substitute rows of 64 to 1024 bytes: carry-less products, bit
/// by bit.
std::vector<std::uint64_t> digests_of(const IndexedRows& rows, std::uint64_t seed) {
  const std::uint64_t of_keys = mix64(mix64(mix64(seed)));
  std::vector<std::uint64_t> digests;
  for (index_t j = 0; j < rows.n; ++j) {
    std::uint64_t low = 0, high = 0;
    for (index_t at = 0; at < rows.bytes; at += 16) {
      std::array<std::uint64_t, 2> words{};
      std::memcpy(words.data(), rows.data + j * rows.bytes + at,
                  static_cast<std::size_t>(std::min<index_t>(16, rows.bytes - at)));
      for (std::size_t w = 0; w < 2; ++w)
        words[w] ^= mix64(of_keys ^ mix64(static_cast<std::uint64_t>(at) / 8 + w));
      for (int i = 0; i < 64; ++i) {
        if ((words[1] >> i & 1) == 0) continue;
        low ^= words[0] << i;
        if (i > 0) high ^= words[0] >> (64 - i);
      }
    }
    digests.insert(digests.end(), {low, high});
  }
  return digests;
}

bool is_digested([[maybe_unused]] index_t bytes) {
#if defined(__x86_64__)
  return bytes >= 64 && bytes <= 1024;
#else
  return false;
#endif
}

/// Returns the hash of rows by definition: the same on every instruction set.
std::uint64_t hash_of(const IndexedRows& rows, std::uint64_t seed) {
  const std::uint64_t flip = mix64(seed), factor = mix64(~seed) | 1;
  const std::uint64_t of_index = (std::rotl(flip, 32) ^ factor) | 1;
  const std::uint64_t of_place = (factor << 32 | factor >> 32 | 1) + (flip << 1);
  if (is_digested(rows.bytes)) {
    const std::vector<std::uint64_t> digests = digests_of(rows, seed);
    IndexedRows short_rows = rows;
    short_rows.data = std::as_bytes(std::span(digests)).data();
    short_rows.bytes = 16;
    return hash_of(short_rows, seed);
  }
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
  for (const index_t bytes : {0,  1,  2,  3,  4,   7,   8,   12,  16,  20,   24,  40,
                              63, 64, 65, 72, 100, 120, 128, 136, 200, 1024, 1030}) {
    for (const index_t n : {0, 1, 3, 6, 7, 8, 1000, bytes < 64 ? 30001 : 5001}) {
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

TEST(HashIndexed, HasTheSameDigestsOnEveryInstructionSet) {
  for (const index_t bytes : {64, 65, 72, 79, 80, 81, 100, 128, 200, 1024}) {
    for (const index_t n : {1, 2, 3, 4, 9}) {
      std::vector<std::byte> data(static_cast<std::size_t>(n * bytes));
      for (std::size_t b = 0; b < data.size(); ++b) data[b] = static_cast<std::byte>(mix64(b));
      std::vector<std::uint64_t> keys(128);
      for (std::size_t k = 0; k < keys.size(); ++k) keys[k] = mix64(k);
      const IndexedRows rows{data.data(), bytes, n, nullptr, 0};
      const auto digested = [&](const auto& digest) {
        std::vector<std::uint64_t> digests(static_cast<std::size_t>(2 * n + 1),
                                           7);  // and one sentinel
        digest(rows, keys.data(), digests.data());
        EXPECT_EQ(digests.back(), 7U);
        return digests;
      };
      const auto want = digested(baseline::digest_rows_plainly);
      EXPECT_EQ(digested(baseline::digest_rows), want);
#if defined(__x86_64__)
      if (machine::supports(machine::Isa::bits256)) {
        EXPECT_EQ(digested(bits256::digest_rows), want) << bytes;
      }
      if (machine::supports(machine::Isa::bits512)) {
        EXPECT_EQ(digested(bits512::digest_rows), want) << bytes;
      }
#endif
    }
  }
}

TEST(HashIndexed, SeesWhatIsChangedOrChangesPlaces) {
  for (const index_t bytes : {1, 4, 5, 8, 16, 36, 64, 100, 136}) {
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
    std::copy(row(5), row(6), row(6));  // one lost, one duplicated
    row(6)[0] ^= std::byte{4};          // ensures a difference
    EXPECT_NE(hash(), whole);
  }
}

/// Columns of these widths, arbitrary bytes, the same for the same row number.
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
  for (const index_t width :
       {1, 2, 3, 4, 7, 8, 9, 12, 16, 24, 31, 32, 33, 40, 63, 64, 65, 72, 100, 136}) {
    for (const std::size_t n : std::initializer_list<std::size_t>{1, 7, 8, 9, 600}) {
      std::vector<std::uint64_t> numbers(n);
      std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
      const SomeRows rows({width, 5, width}, numbers);
      std::uint64_t want = 0;
      std::vector<RowColumn> columns = rows.columns;
      std::vector<std::vector<std::uint64_t>> digests;
      for (RowColumn& column : columns) {
        if (!is_digested(column.bytes)) continue;
        digests.push_back(
            digests_of({column.data, column.bytes, static_cast<index_t>(n), nullptr, 0},
                       hash_at(seed, digests.size())));
        column = {std::as_bytes(std::span(digests.back())).data(), 16};
      }
      for (std::size_t j = 0; j < n; ++j) {
        std::uint64_t sum = 0, place = 0;
        for (const RowColumn& column : columns) {
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
