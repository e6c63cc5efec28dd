// Words of rows by several columns.

#include "dist/sort/column_words.hpp"

#include <algorithm>

namespace tessera::inline v1::dist::sort {
namespace {

using tessera::sort::Pair;

/// Calls load(column, word, bits) for every word of all n rows.
template <class Load>
std::vector<std::uint64_t> by_rows(const std::vector<KeyColumn>& columns, std::size_t n,
                                   std::size_t most, const Load& load) {
  const std::size_t width = std::min(words_of(columns), most);
  std::vector<std::uint64_t> result(n * width), bits(n);
  std::size_t at = 0;
  for (const KeyColumn& column : columns) {
    for (index_t w = 0; w < column.form.words() && at < width; ++w, ++at) {
      load(column, w, bits.data());
      for (std::size_t j = 0; j < n; ++j) result[j * width + at] = bits[j];
    }
  }
  return result;
}

}  // namespace

std::size_t words_of(const std::vector<KeyColumn>& columns) {
  index_t words = 0;
  for (const KeyColumn& column : columns) words += column.form.words();
  return static_cast<std::size_t>(words);
}

std::vector<std::uint64_t> row_words(const std::vector<KeyColumn>& columns, layout::Range rows,
                                     std::size_t most) {
  return by_rows(columns, static_cast<std::size_t>(rows.size()), most,
                 [&](const KeyColumn& column, index_t word, std::uint64_t* bits) {
                   key_word(column, word, rows, bits);
                 });
}

std::vector<std::uint64_t> row_words(const std::vector<KeyColumn>& columns,
                                     std::span<const std::uint64_t> places, std::size_t most) {
  return by_rows(columns, places.size(), most,
                 [&](const KeyColumn& column, index_t word, std::uint64_t* bits) {
                   key_word(column, word, places, bits);
                 });
}

ColumnWords::ColumnWords(const std::vector<KeyColumn>& columns, std::vector<layout::Range> rows)
    : rows_(std::move(rows)), begin_{0} {
  for (const KeyColumn& column : columns) {
    for (index_t w = 0; w < column.form.words(); ++w) words_.push_back({&column, w});
  }
  for (const layout::Range& range : rows_) begin_.push_back(begin_.back() + range.size());
}

/// Calls f(rows) for each contiguous range of rows between `begin` and `end`.
template <class F>
void ColumnWords::for_ranges(index_t begin, index_t end, const F& f) const {
  auto r = static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), begin) -
                                    begin_.begin()) -
           1;
  for (; begin < end; ++r) {
    const index_t last = std::min(end, begin_[r + 1]), from = rows_[r].begin - begin_[r];
    f(layout::Range{from + begin, from + last});
    begin = last;
  }
}

void ColumnWords::load(index_t word, index_t begin, index_t end, std::uint64_t* bits) const {
  const auto& [column, in_column] = words_[static_cast<std::size_t>(word)];
  for_ranges(begin, end, [&, column = column, in_column = in_column](layout::Range rows) {
    key_word(*column, in_column, rows, bits);
    bits += rows.size();
  });
}

void ColumnWords::number(index_t begin, index_t end, std::uint64_t* to) const {
  for_ranges(begin, end, [&](layout::Range rows) {
    for (index_t row = rows.begin; row < rows.end; ++row) *to++ = static_cast<std::uint64_t>(row);
  });
}

void ColumnWords::load_at(index_t word, const Pair* rows, index_t n, Pair* to) const {
  constexpr index_t some = 64;
  const auto& [column, in_column] = words_[static_cast<std::size_t>(word)];
  std::uint64_t places[some], bits[some];
  for (index_t first = 0; first < n; first += some) {
    const index_t here = std::min(some, n - first);
    for (index_t i = 0; i < here; ++i) places[i] = rows[first + i].index;
    key_word(*column, in_column,
             std::span<const std::uint64_t>(places, static_cast<std::size_t>(here)), bits);
    for (index_t i = 0; i < here; ++i) to[first + i].key = bits[i];
  }
}

}  // namespace tessera::inline v1::dist::sort
