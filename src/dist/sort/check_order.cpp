// Verifies the order of rows, one word of their keys after the other: vectorised, in blocks of rows
// whose words fit a first-level cache.

#include <algorithm>
#include <array>

#include "dist/sort/check.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::dist::sort {
namespace {

constexpr index_t at_once = 1024;         // rows of a block
constexpr index_t flags_grain = 1 << 13;  // bytes of flags (eight rows each) of one task
constexpr index_t rows_of_byte = 8;

[[nodiscard]] bool any_equal(const unsigned char* equal, index_t n) {
  return std::any_of(equal, equal + ceil_div(n, rows_of_byte),
                     [](unsigned char bits) { return bits != 0; });
}

/// Marks all rows as equal to their predecessors, except the first row of all ranks.
void set_flags(layout::Range rows, bool has_row_before, unsigned char* equal) {
  const auto first = equal + rows.begin / rows_of_byte;
  std::fill(first, first + ceil_div(rows.size(), rows_of_byte), 0xff);
  if (!has_row_before && !rows.empty()) *first &= 0xfe;
}

/// Returns the number of rows that descend in these words among those equal so far; clears the
/// flags of rows that differ. word_of(word, rows, to) sets to[-1 : rows.size()] to the words of
/// some rows and of their predecessor.
template <class WordOf>
index_t step_through(index_t words, layout::Range rows, const WordOf& word_of,
                     unsigned char* equal) {
  std::array<std::uint64_t, at_once + 1> bits;
  index_t wrong = 0;
  for (index_t begin = rows.begin; begin < rows.end; begin += at_once) {
    const layout::Range some{begin, std::min(begin + at_once, rows.end)};
    unsigned char* const flags = equal + begin / rows_of_byte;
    for (index_t word = 0; word < words && any_equal(flags, some.size()); ++word) {
      word_of(word, some, bits.data() + 1);
      wrong += tessera::sort::steps_down(bits.data() + 1, some.size(), flags);
    }
  }
  return wrong;
}

/// Returns the number of rows with equal keys whose indices do not ascend.
index_t step_through_ties(Indices places, layout::Range rows, std::uint64_t index_before,
                          const unsigned char* equal) {
  if (!any_equal(equal + rows.begin / rows_of_byte, rows.size())) return 0;
  if (rows.begin > 0)
    return tessera::sort::steps_not_up(places.data() + rows.begin, rows.size(),
                                       equal + rows.begin / rows_of_byte);
  std::array<std::uint64_t, rows_of_byte + 1> indices{index_before};
  const index_t some = std::min(rows_of_byte, rows.end);
  std::copy_n(places.begin(), some, indices.begin() + 1);
  return tessera::sort::steps_not_up(indices.data() + 1, some, equal) +
         step_through_ties(places, {some, rows.end}, 0, equal);
}

template <class Keys>
index_t words_in(const Keys& keys) {
  index_t words = 0;
  for (const auto& key : keys) words += key.form.words();
  return words;
}

/// Calls f(key, word of the key) for a word of all keys.
template <class Keys, class F>
void with_word(const Keys& keys, index_t word, const F& f) {
  std::size_t k = 0;
  for (; word >= keys[k].form.words(); ++k) word -= keys[k].form.words();
  f(keys[k], word);
}

void words_at(const KeyColumn& column, index_t word, Indices places, layout::Range rows,
              std::uint64_t* to) {
  const Indices some =
      places.subspan(static_cast<std::size_t>(rows.begin), static_cast<std::size_t>(rows.size()));
  for (const std::uint64_t place : some)
    __builtin_prefetch(column.data + static_cast<index_t>(place) * column.step());
  key_word(column, word, some, to);
}
/// Sets to[-1 : rows.size()], from row -1 on if there is one.
void words_at_and_before(const KeyColumn& column, index_t word, Indices places, layout::Range rows,
                         std::uint64_t* to) {
  const index_t extra = rows.begin > 0 ? 1 : 0;
  words_at(column, word, places, {rows.begin - extra, rows.end}, to - extra);
  if (extra == 0) to[-1] = to[0];
}

}  // namespace

OrderOfRows::OrderOfRows(const mpi::Communicator& comm, Indices permutation, std::size_t columns,
                         int threads)
    : comm_(comm),
      permutation_(permutation),
      columns_(columns),
      threads_(threads),
      equal_(ceil_div(static_cast<index_t>(permutation.size()), rows_of_byte)) {}

KeyColumn OrderOfRows::key_at(const KeyInRow& key, const std::byte* row) const {
  return {key.form, row + key.offset, key.order, row_bytes_};
}

void OrderOfRows::expect(std::vector<KeyInRow> keys, index_t row_bytes, const std::byte* last_row) {
  seen_ += expected_.size();
  expected_ = std::move(keys);
  row_bytes_ = row_bytes;
  words_before_.clear();
  const index_t words = words_in(expected_);
  std::vector<std::uint64_t> mine(static_cast<std::size_t>(words) + 2, 0);
  if (!permutation_.empty()) {
    mine[0] = 1;
    mine[1] = permutation_.back();
    for (index_t w = 0; w < words; ++w) {
      with_word(expected_, w, [&](const KeyInRow& key, index_t word) {
        key_word(key_at(key, last_row), word, layout::Range{0, 1},
                 &mine[static_cast<std::size_t>(w) + 2]);
      });
    }
  }
  const auto all = comm_.all_gather(std::span<const std::uint64_t>(mine));
  for (auto r = static_cast<std::size_t>(comm_.rank()); r-- > 0;) {
    const auto of_rank = std::span(all).subspan(r * mine.size(), mine.size());
    if (of_rank[0] == 0) continue;
    index_before_ = of_rank[1];
    words_before_.assign(of_rank.begin() + 2, of_rank.end());
    return;
  }
}

template <class WordOf>
void OrderOfRows::look(layout::Range rows, const WordOf& word_of) {
  if (seen_ == 0) set_flags(rows, rows.begin > 0 || index_before_, equal_.data());
  index_t wrong = step_through(words_in(expected_), rows, word_of, equal_.data());
  if (seen_ + expected_.size() == columns_)
    wrong += step_through_ties(permutation_, rows, index_before_.value_or(0), equal_.data());
  if (wrong > 0) wrong_ += wrong;
}

void OrderOfRows::look_at(const std::byte* rows_here, const std::byte* row_before,
                          layout::Range rows) {
  TESSERA_EXPECTS(rows.begin % rows_of_byte == 0);
  look(rows, [&](index_t w, layout::Range some, std::uint64_t* to) {
    with_word(expected_, w, [&](const KeyInRow& key, index_t word) {
      const KeyColumn column = key_at(key, rows_here);
      const index_t first = some.begin - rows.begin;
      key_word(column, word, layout::Range{first, first + some.size()}, to);
      if (first > 0)
        key_word(column, word, layout::Range{first - 1, first}, to - 1);
      else if (some.begin > 0)
        key_word(key_at(key, row_before), word, layout::Range{0, 1}, to - 1);
      else
        to[-1] = words_before_.empty() ? to[0] : words_before_[static_cast<std::size_t>(w)];
    });
  });
}

void OrderOfRows::look_at(const KeyColumn& sorted) {
  const auto n = static_cast<index_t>(permutation_.size());
  const auto row = [&](index_t j) { return sorted.data + std::max<index_t>(0, j) * sorted.step(); };
  expect({{sorted.form, sorted.order}}, sorted.step(), row(n - 1));
  machine::parallel(threads_, [&] {
    machine::parallel_for(
        0, ceil_div(n, rows_of_byte), flags_grain, [&](index_t begin, index_t end) {
          const index_t first = begin * rows_of_byte;
          look_at(row(first), row(first - 1), {first, std::min(n, end * rows_of_byte)});
        });
  });
}

void OrderOfRows::look_up(const KeyColumn& column) {
  TESSERA_EXPECTS(comm_.size() == 1);
  const auto n = static_cast<index_t>(permutation_.size());
  const index_t last = n > 0 ? static_cast<index_t>(permutation_.back()) : 0;
  expect({{column.form, column.order}}, column.step(), column.data + last * column.step());
  machine::parallel(threads_, [&] {
    machine::parallel_for(0, ceil_div(n, rows_of_byte), flags_grain,
                          [&](index_t begin, index_t end) {
                            look({begin * rows_of_byte, std::min(n, end * rows_of_byte)},
                                 [&](index_t word, layout::Range some, std::uint64_t* to) {
                                   words_at_and_before(column, word, permutation_, some, to);
                                 });
                          });
  });
}

index_t OrderOfRows::faults() const {
  TESSERA_EXPECTS(seen_ + expected_.size() == columns_);
  return comm_.sum(wrong_.load());
}

index_t look_at_rows(const std::vector<KeyColumn>& columns, Indices places, layout::Range rows,
                     unsigned char* equal) {
  set_flags(rows, rows.begin > 0, equal);
  const index_t wrong = step_through(
      words_in(columns), rows,
      [&](index_t w, layout::Range some, std::uint64_t* to) {
        with_word(columns, w, [&](const KeyColumn& column, index_t word) {
          words_at_and_before(column, word, places, some, to);
        });
      },
      equal);
  return wrong + step_through_ties(places, rows, 0, equal);
}

}  // namespace tessera::inline v1::dist::sort
