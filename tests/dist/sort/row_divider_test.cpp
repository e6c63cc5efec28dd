#include "dist/sort/row_divider.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "dist/sort/check.hpp"
#include "dist/sort/column_words.hpp"
#include "kernels/sort/by_words.hpp"

namespace tessera::dist::sort {
namespace {

using Row = std::vector<std::uint64_t>;

/// Stored row of a table: an integer of few values, a number with some repeats, a string.
struct Stored {
  std::int32_t kind;
  double value;
  char name[11];
};

struct Table {
  std::vector<Stored> rows;
  std::vector<KeyColumn> columns;

  Table(index_t n, std::uint64_t kinds, std::uint64_t values) : rows(static_cast<std::size_t>(n)) {
    for (index_t i = 0; i < n; ++i) {
      Stored& row = rows[static_cast<std::size_t>(i)];
      row = {};
      row.kind = static_cast<std::int32_t>(random_bits(1, 0, i) % kinds) - 2;
      row.value = static_cast<double>(random_bits(1, 1, i) % values) / 3 - 5;
      if (values > 1 && random_bits(1, 3, i) % 50 == 0)
        row.value = std::numeric_limits<double>::quiet_NaN();
      for (unsigned b = 0; b < 11; ++b)
        row.name[b] = static_cast<char>('a' + random_bits(2, b, i) % 2);
    }
    const auto at = [&](std::size_t offset) {
      return reinterpret_cast<const std::byte*>(rows.data()) + offset;
    };
    columns = {
        {KeyForm::of(Element::i32), at(offsetof(Stored, kind)), Order::ascending, sizeof(Stored)},
        {KeyForm::of(Element::f64), at(offsetof(Stored, value)), Order::descending, sizeof(Stored)},
        {KeyForm::string(11), at(offsetof(Stored, name)), Order::ascending, sizeof(Stored)}};
  }
  [[nodiscard]] index_t size() const { return static_cast<index_t>(rows.size()); }
  [[nodiscard]] Row words(index_t row) const {
    return row_words(columns, {row, row + 1}, words_of(columns));
  }
  [[nodiscard]] std::vector<std::uint64_t> stable_order() const {
    std::vector<Row> all;
    for (index_t j = 0; j < size(); ++j) all.push_back(words(j));
    std::vector<std::uint64_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return all[a] < all[b]; });
    return order;
  }
};

TEST(KeyWords, AreTheSameInRowsAndAlone) {
  const Table table(100, 5, 40);
  std::vector<double> alone;
  for (const Stored& row : table.rows) alone.push_back(row.value);
  const KeyColumn column{KeyForm::of(Element::f64),
                         reinterpret_cast<const std::byte*>(alone.data()), Order::descending};
  Row in_rows(90), of_column(90), of_places(3);
  key_word(table.columns[1], 0, {10, 100}, in_rows.data());
  key_word(column, 0, {10, 100}, of_column.data());
  EXPECT_EQ(in_rows, of_column);
  const Row places{99, 10, 54};
  key_word(table.columns[1], 0, places, of_places.data());
  EXPECT_EQ(of_places, (Row{in_rows[89], in_rows[0], in_rows[44]}));
}

TEST(RowDivider, BucketsFollowEachOther) {
  for (const auto& [kinds, values] :
       {std::pair<std::uint64_t, std::uint64_t>{5, 1000}, {1, 1}, {1000, 2}}) {
    const Table table(5000, kinds, values);
    for (const index_t seen : {1, 10, 1000, 5000}) {  // includes rows outside the sample
      const Row sample = row_words(table.columns, {0, seen}, words_of(table.columns));
      const RowDivider divider(sample, words_of(table.columns), 64);
      std::vector<std::uint16_t> bucket(5001, 12345);
      divider.classify(table.columns, {0, 5000}, bucket.data());
      EXPECT_EQ(bucket.back(), 12345);
      std::uint16_t before = 0;
      for (const std::uint64_t row : table.stable_order()) {
        ASSERT_LT(bucket[row], divider.buckets());
        ASSERT_LE(before, bucket[row]);
        before = bucket[row];
      }
    }
  }
}

TEST(RowDivider, TakesTheWordsBehindWhereTheFirstOnesAreEqual) {
  const Table table(8192, 1, 1);  // names decide
  const Row sample = row_words(table.columns, {0, 8192}, words_of(table.columns));
  EXPECT_LT(RowDivider(sample, words_of(table.columns), 256).greatest(), 0.2);
  EXPECT_EQ(RowDivider(row_words(table.columns, {0, 8192}, 1), 1, 256).greatest(),
            1);  // uses the kind only
}

TEST(RowDivider, IsKnownByItsFingerprint) {
  const Table table(3000, 50, 1000), wider(1000, 51, 1000);
  const Row sample = row_words(table.columns, {0, 1000}, words_of(table.columns)),
            other = row_words(wider.columns, {0, 1000}, words_of(table.columns));
  const std::size_t words = words_of(table.columns);
  EXPECT_EQ(RowDivider(sample, words, 64).fingerprint(),
            RowDivider(sample, words, 64).fingerprint());
  EXPECT_NE(RowDivider(sample, words, 64).fingerprint(),
            RowDivider(sample, words, 65).fingerprint());
  EXPECT_NE(RowDivider(sample, words, 64).fingerprint(),
            RowDivider(other, words, 64).fingerprint());
}

/// Returns the rows in the order of ByWords.
std::vector<std::uint64_t> sorted(const Table& table, std::vector<layout::Range> ranges, index_t n,
                                  int threads, const char* kernel) {
  std::vector<tessera::sort::Pair> pairs(static_cast<std::size_t>(n)), spare(pairs.size());
  std::vector<std::uint64_t> places(pairs.size());
  machine::parallel(threads, [&] {
    tessera::sort::ByWords(ColumnWords(table.columns, std::move(ranges)), std::span(pairs),
                           std::span(spare), kernel)
        .sort();
  });
  for (std::size_t j = 0; j < places.size(); ++j) places[j] = pairs[j].index;
  return places;
}

TEST(ByWords, SortsRowsStablyByAllColumns) {
  for (const auto& [kinds, values] :
       {std::pair<std::uint64_t, std::uint64_t>{5, 1000}, {1, 1}, {2, 3}, {1u << 31, 9}}) {
    for (const index_t n : {0, 1, 2, 100, 20011}) {
      const Table table(n, kinds, values);
      for (const int threads : {1, 3}) {
        for (const char* kernel : {"auto", "mergesort"})
          ASSERT_EQ(sorted(table, {{0, n}}, n, threads, kernel), table.stable_order())
              << n << " " << kinds;
      }
    }
  }
}

TEST(ByWords, SortsTheRowsOfSomeRangesAlone) {
  for (const std::uint64_t kinds :
       {std::uint64_t{3}, std::uint64_t{100000}, std::uint64_t{1} << 31}) {
    const Table table(5000, kinds, 5);
    std::vector<std::uint64_t> want = table.stable_order();
    std::erase_if(want, [](std::uint64_t row) {
      return row < 7 || (row >= 1000 && row < 4000) || row >= 4990;
    });
    EXPECT_EQ(
        sorted(table, {{7, 7}, {7, 500}, {500, 1000}, {4000, 4990}, {4990, 4990}}, 1983, 2, "auto"),
        want);
  }
}

TEST(LookAtRows, CountsWhatIsOutOfOrderAndSaysWhatIsEqual) {
  const Table table(3000, 2, 3);
  std::vector<std::uint64_t> places = table.stable_order();
  std::vector<unsigned char> equal(376, 9);  // a bit per row, and a byte more
  EXPECT_EQ(look_at_rows(table.columns, places, {0, 3000}, equal.data()), 0);
  EXPECT_EQ(equal.back(), 9);
  EXPECT_FALSE(is_set(equal.data(), 0));
  std::size_t at = 0;
  for (std::size_t j = 1; j < 3000; ++j) {
    const bool same = table.words(static_cast<index_t>(places[j - 1])) ==
                      table.words(static_cast<index_t>(places[j]));
    ASSERT_EQ(is_set(equal.data(), static_cast<index_t>(j)), same);
    if (same && j > 2000) at = j;
  }
  ASSERT_GT(at, 0U);
  std::swap(places[at - 1], places[at]);  // equal rows in the wrong order
  EXPECT_EQ(look_at_rows(table.columns, places, {2000, 3000}, equal.data()), 1);
  EXPECT_EQ(look_at_rows(table.columns, places, {0, 2000}, equal.data()), 0);
  std::swap(places[5], places[2500]);
  EXPECT_GT(look_at_rows(table.columns, places, {0, 3000}, equal.data()), 1);
}

}  // namespace
}  // namespace tessera::dist::sort
