// The order of rows by byte keys. Keys are sequences of eight-byte words, sorted in one 64-bit word
// together with the row's number if the keys suit that, otherwise in pairs (by_words.hpp).

#include "kernels/sort/records.hpp"

#include <algorithm>

#include "kernels/sort/by_words.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {
namespace {

constexpr index_t word_bytes = 8;
/// Keys as words of eight bytes, the last one possibly partial.
class KeyWords {
 public:
  KeyWords(const std::byte* rows, index_t row_bytes, const RowKey& key)
      : first_(rows + key.begin),
        row_bytes_(row_bytes),
        key_bytes_(key.bytes),
        flip_(is_descending(key.order) ? ~std::uint64_t{0} : 0) {}

  [[nodiscard]] index_t count() const { return ceil_div(key_bytes_, word_bytes); }
  [[nodiscard]] std::uint64_t at(index_t row, index_t word) const {
    const std::byte* const first = first_ + row * row_bytes_ + word_bytes * word;
    const index_t bytes = std::min(word_bytes, key_bytes_ - word_bytes * word);
    std::uint64_t bits = 0;
    if (bytes == word_bytes) {
      for (int b = 0; b < 8; ++b) bits |= std::to_integer<std::uint64_t>(first[b]) << (56 - 8 * b);
    } else {
      for (index_t b = 0; b < bytes; ++b)
        bits = bits << 8 | std::to_integer<std::uint64_t>(first[b]);
    }
    return bits ^ flip_;
  }
  void load(index_t word, index_t begin, index_t end, std::uint64_t* bits) const {
    for (index_t j = begin; j < end; ++j) bits[j - begin] = at(j, word);
  }
  void number(index_t begin, index_t end, std::uint64_t* to) const {
    for (index_t j = begin; j < end; ++j) to[j - begin] = static_cast<std::uint64_t>(j);
  }
  void load_at(index_t word, const Pair* rows, index_t n, Pair* to) const {
    for (index_t i = 0; i < n; ++i) to[i].key = at(static_cast<index_t>(rows[i].index), word);
  }

 private:
  const std::byte* first_;  // row 0's key
  index_t row_bytes_, key_bytes_;
  std::uint64_t flip_;
};

class ByKey {
 public:
  ByKey(const std::byte* rows, index_t row_bytes, index_t n, const RowKey& key)
      : keys_(rows, row_bytes, key), n_(n) {}

  void sort() {
    if (n_ == 0 || sort_words()) return;
    pairs_ = machine::Buffer<Pair>(n_);
    machine::Buffer<Pair> spare(n_);
    ByWords(keys_, pairs_.span(), spare.span(), "auto").sort_in_pairs();
  }
  /// Returns the number of the row that belongs at j.
  [[nodiscard]] std::uint64_t row_at(index_t j) const {
    return words_.size() > 0 ? words_[j] & mask_ : pairs_[j].index;
  }

 private:
  /// Sorts one word per row, half of the memory of pairs; returns false if the keys do not suit
  /// that.
  [[nodiscard]] bool sort_words() {
    const NumberedWords numbered(keys_, n_);
    if (!numbered.serve()) return false;
    mask_ = numbered.mask();
    words_ = machine::Buffer<std::uint64_t>(n_);
    machine::Buffer<std::uint64_t> scratch(n_);
    const auto alike = numbered.sort(words_.span(), scratch.span());
    if (alike)
      sort_alike(*alike);
    else
      words_ = {};
    return alike.has_value();
  }

  /// Sorts ranges of equal words by the whole key.
  void sort_alike(std::span<const EqualRange> alike) {
    machine::parallel_for(
        0, static_cast<index_t>(alike.size()), rows_of_task / 64, [&](index_t begin, index_t end) {
          const auto mine =
              alike.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
          machine::List<Pair> pairs;
          for (const EqualRange& equal : mine) {  // loads all rows first: they are scattered in
                                                  // memory
            for (index_t i = equal.begin; i < equal.end; ++i) {
              const std::uint64_t row = words_[i] & mask_;
              pairs.push_back({keys_.at(static_cast<index_t>(row), 0), row});
            }
          }
          Pair* next = pairs.data();
          for (const EqualRange& equal : mine) {
            sort_few(keys_, next, equal.size(), 0);
            for (index_t i = equal.begin; i < equal.end; ++i)
              words_[i] = (words_[i] & ~mask_) | next++->index;
          }
        });
  }

  KeyWords keys_;
  index_t n_;
  machine::Buffer<std::uint64_t> words_;
  std::uint64_t mask_ = 0;  // of a row's number in a word
  machine::Buffer<Pair> pairs_;
};

}  // namespace

void argsort_records(const std::byte* rows, index_t row_bytes, const RowKey& key,
                     std::span<std::uint64_t> order, int threads) {
  TESSERA_EXPECTS(key.begin >= 0 && key.begin + key.bytes <= row_bytes);
  if (order.empty()) return;
  machine::parallel(threads, [&] {
    ByKey by_key(rows, row_bytes, static_cast<index_t>(order.size()), key);
    by_key.sort();
    machine::parallel_for(0, static_cast<index_t>(order.size()), rows_of_task,
                          [&](index_t begin, index_t end) {
                            for (index_t j = begin; j < end; ++j)
                              order[static_cast<std::size_t>(j)] = by_key.row_at(j);
                          });
  });
}

}  // namespace tessera::inline v1::sort
