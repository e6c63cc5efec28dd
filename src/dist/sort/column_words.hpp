#pragma once
// Words of rows by several columns: row by row, and as a source for kernels/sort/by_words.hpp.

#include <span>
#include <utility>
#include <vector>

#include "dist/sort/key_words.hpp"

namespace tessera::inline v1::dist::sort {

/// Returns the number of words of a row over all columns.
[[nodiscard]] std::size_t words_of(const std::vector<KeyColumn>& columns);

/// Returns the first `most` words of each of some rows, row by row.
[[nodiscard]] std::vector<std::uint64_t> row_words(const std::vector<KeyColumn>& columns,
                                                   layout::Range rows, std::size_t most);
[[nodiscard]] std::vector<std::uint64_t> row_words(const std::vector<KeyColumn>& columns,
                                                   std::span<const std::uint64_t> places,
                                                   std::size_t most);

/// Words of some rows of the columns, concatenated ranges; rows are identified by their numbers in
/// them. For sort::ByWords. The columns must outlive the object.
class ColumnWords {
 public:
  ColumnWords(const std::vector<KeyColumn>& columns, std::vector<layout::Range> rows);

  [[nodiscard]] index_t size() const { return begin_.back(); }
  [[nodiscard]] index_t count() const { return static_cast<index_t>(words_.size()); }
  void load(index_t word, index_t begin, index_t end, std::uint64_t* bits) const;
  void number(index_t begin, index_t end, std::uint64_t* to) const;
  void load_at(index_t word, const tessera::sort::Pair* rows, index_t n,
               tessera::sort::Pair* to) const;

 private:
  template <class F>
  void for_ranges(index_t begin, index_t end, const F& f) const;
  struct Word {
    const KeyColumn* column;
    index_t in_column;
  };

  std::vector<Word> words_;
  std::vector<layout::Range> rows_;
  std::vector<index_t> begin_;  // of each range in the concatenation, and the end
};

}  // namespace tessera::inline v1::dist::sort
