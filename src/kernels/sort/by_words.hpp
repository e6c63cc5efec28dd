#pragma once
// Sorts rows by keys of several words. If a sample has no two rows with equal leading bits, those
// bits and the row's number are packed into one 64-bit word and sorted; otherwise the first word is
// sorted with the number in a pair, or, if a sample has duplicates of it, as many words as fit 64
// bits without the bits common to all rows. Equal keys are sorted further by the next word.
//
// Words provides the keys of n rows; the order of a word is that of unsigned numbers. Rows have
// ascending numbers:
// - index_t count() const;                     returns the words of a row
// - void load(word, begin, end, bits) const;   bits[0 : end - begin] = its words of [begin, end)
// - void number(begin, end, to) const;         to[0 : end - begin] = numbers of rows [begin, end)
// - void load_at(word, rows, n, to) const;     to[i].key = that word of row number rows[i].index

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "kernels/sort/common.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

constexpr index_t rows_of_task = 1 << 14;
constexpr index_t rows_at_once =
    1 << 8;  // the first-level cache holds that many keys even of a hundred bytes

/// A range of adjacent items with equal keys.
struct EqualRange {
  index_t begin, end;
  [[nodiscard]] index_t size() const { return end - begin; }
};

/// Returns the ranges of two or more equal keys in `range` that begin in [begin, end), by key(i).
template <class KeyAt>
[[nodiscard]] machine::List<EqualRange> equal_ones(EqualRange range, index_t begin, index_t end,
                                                   const KeyAt& key) {
  machine::List<EqualRange> found;
  for (index_t i = begin; i < end; ++i) {
    if (i + 1 == range.end || key(i) != key(i + 1) || (i > range.begin && key(i - 1) == key(i)))
      continue;
    index_t last = i + 1;
    while (last + 1 < range.end && key(last + 1) == key(i)) ++last;
    found.push_back({i, last + 1});
    i = last;
  }
  return found;
}

/// Sorts pairs by their keys, the current word, and the following words, on this thread.
template <class Words>
void sort_few(const Words& words, Pair* pairs, index_t n, index_t at_hand) {
  if (n <= 16)
    insertion_sort(pairs, n);
  else
    std::sort(pairs, pairs + n);
  const index_t next = at_hand + 1;
  if (next >= words.count()) return;
  for (const EqualRange& equal :
       equal_ones({0, n}, 0, n, [=](index_t i) { return pairs[i].key; })) {
    words.load_at(next, pairs + equal.begin, equal.size(), pairs + equal.begin);
    sort_few(words, pairs + equal.begin, equal.size(), next);
  }
}

/// Calls f(bits, word, first, n) for this word, one of the first `count`, of n of the rows [0,
/// rows) from `first` on, word after word; all rows in parallel.
template <class Words, class F>
void for_words(const Words& words, index_t rows, index_t count, const F& f) {
  machine::parallel_for(0, rows, rows_of_task, [&](index_t begin, index_t end) {
    std::uint64_t bits[rows_at_once];
    for (index_t j = begin; j < end; j += rows_at_once) {
      const index_t n = std::min(rows_at_once, end - j);
      for (index_t word = 0; word < count; ++word) {
        words.load(word, j, j + n, bits);
        f(bits, word, j, n);
      }
    }
  });
}

/// Returns the sorted first words of a sample of n > 0 rows.
template <class Words>
[[nodiscard]] machine::List<std::uint64_t> sorted_sample(const Words& words, index_t rows) {
  constexpr index_t most = 1 << 12;
  const index_t n = std::clamp<index_t>(rows / 64, std::min<index_t>(rows, 64), most);
  machine::List<std::uint64_t> sample(static_cast<std::size_t>(n));
  for (index_t s = 0; s < n; ++s) {
    const index_t row = s * (rows / n);
    words.load(0, row, row + 1, &sample[static_cast<std::size_t>(s)]);
  }
  std::sort(sample.begin(), sample.end());
  return sample;
}

/// 64-bit words of the leading key bits of n > 0 rows, with row numbers 0, 1, ... in the lowest
/// bits.
template <class Words>
class NumberedWords {
 public:
  /// Samples the rows; `words` must outlive this object.
  NumberedWords(const Words& words, index_t rows)
      : words_(words), n_(rows), bits_(bit_length(static_cast<std::uint64_t>(rows - 1))) {
    const machine::List<std::uint64_t> sample = sorted_sample(words, n_);
    first_ = sample.front();
    same_ = std::countl_zero(sample.front() ^ sample.back());
    const auto kept = [this](std::uint64_t bits) { return bits << same_ >> bits_; };
    const auto alike = [&](std::uint64_t a, std::uint64_t b) { return kept(a) == kept(b); };
    serve_ = same_ < 64 && std::adjacent_find(sample.begin(), sample.end(), alike) == sample.end();
  }

  /// Returns whether a sample has no two equal keys.
  [[nodiscard]] bool serve() const { return serve_; }
  [[nodiscard]] std::uint64_t mask() const { return (std::uint64_t{1} << bits_) - 1; }

  /// Sorts to[0:n]; overwrites scratch[0:n]. Returns the ranges of words that differ only in their
  /// numbers but may differ in later key bits; nullopt if some row's leading bits contradict the
  /// sample. Runs on the threads of the enclosing parallel region.
  [[nodiscard]] std::optional<machine::List<EqualRange>> sort(
      std::span<std::uint64_t> to, std::span<std::uint64_t> scratch) const {
    if (!load(to.data())) return std::nullopt;
    sort_keys<std::uint64_t>("auto", to, scratch);
    if (words_.count() == 1 && bits_ <= same_) return machine::List<EqualRange>();
    return stretches(to.data());
  }

 private:
  /// Loads the words; returns false if the leading bits of some row differ from those of the
  /// sample.
  [[nodiscard]] bool load(std::uint64_t* to) const {
    std::atomic<std::uint64_t> differing = 0;
    for_words(words_, n_, 1, [&](const std::uint64_t* bits, index_t, index_t begin, index_t n) {
      std::uint64_t its = 0;
      for (index_t j = 0; j < n; ++j) {
        its |= bits[j] ^ first_;
        to[begin + j] = (bits[j] << same_ & ~mask()) | static_cast<std::uint64_t>(begin + j);
      }
      differing |= its;
    });
    return std::countl_zero(differing.load()) >= same_;
  }
  [[nodiscard]] machine::List<EqualRange> stretches(const std::uint64_t* sorted) const {
    machine::List<EqualRange> found;
    std::mutex mutex;
    machine::parallel_for(0, n_, rows_of_task, [&](index_t begin, index_t end) {
      const machine::List<EqualRange> mine =
          equal_ones({0, n_}, begin, end, [&](index_t i) { return sorted[i] >> bits_; });
      const std::lock_guard lock(mutex);
      found.insert(found.end(), mine.begin(), mine.end());
    });
    return found;
  }

  const Words& words_;
  index_t n_;
  int bits_;  // of a row's number
  std::uint64_t first_ = 0;
  int same_ = 0;  // leading bits common to all rows, by the sample: those of `first_`
  bool serve_ = false;
};

template <class Words>
class ByWords {
 public:
  /// Constructs the sort; pairs and spare have one element per row, and both are overwritten.
  /// `kernel` names the variant that sorts pairs, as in sort_pairs().
  ByWords(const Words& words, std::span<Pair> pairs, std::span<Pair> spare, std::string_view kernel,
          const Tuning& tuning = {})
      : words_(words),
        n_(static_cast<index_t>(pairs.size())),
        all_(pairs),
        all_spare_(spare),
        pairs_(pairs.data()),
        spare_(spare.data()),
        kernel_(kernel),
        tuning_(tuning) {}

  /// Sorts stably: afterwards pairs[j].index is the number of the row that belongs at j. Runs on
  /// the threads of the enclosing parallel region.
  void sort() {
    if (n_ == 0 || (kernel_ == "auto" && sort_numbered())) return;
    sort_in_pairs();
  }
  /// Sorts likewise, without packing into single words.
  void sort_in_pairs() {
    if (n_ == 0) return;
    const index_t taken = words_.count() > 1 && repeats() ? load_packed() : load_first();
    sort_pairs(kernel_, all_, all_spare_, tuning_);
    sort_equal_ones({0, n_}, taken);
  }

 private:
  static constexpr index_t most_few = 1 << 10;  // equal keys that one thread sorts further alone

  /// Least and greatest of a word of the keys.
  struct Extent {
    std::uint64_t least = ~std::uint64_t{0}, most = 0;

    void add(const Extent& other) {
      least = std::min(least, other.least);
      most = std::max(most, other.most);
    }
    [[nodiscard]] int bits() const { return bit_length(most - least); }
  };

  /// Sorts packed words in the memory of the spare pairs, if the keys suit that.
  [[nodiscard]] bool sort_numbered() {
    const auto n = static_cast<std::size_t>(n_);
    const std::span<std::uint64_t> words(reinterpret_cast<std::uint64_t*>(spare_), n);
    const std::span<std::uint64_t> numbers(words.data() + n, n);
    const NumberedWords numbered(words_, n_);
    const auto alike = numbered.serve() ? numbered.sort(words, numbers) : std::nullopt;
    if (!alike) return false;
    machine::parallel_for(0, n_, rows_of_task, [&](index_t begin, index_t end) {
      words_.number(begin, end, numbers.data() + begin);
    });
    machine::parallel_for(0, n_, rows_of_task, [&](index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j)
        pairs_[j].index = numbers[words[static_cast<std::size_t>(j)] & numbered.mask()];
    });
    machine::parallel_for(0, static_cast<index_t>(alike->size()), rows_of_task / 64,
                          [&](index_t begin, index_t end) {
                            for (index_t r = begin; r < end; ++r) {
                              const EqualRange equal = (*alike)[static_cast<std::size_t>(r)];
                              Pair* const its = pairs_ + equal.begin;
                              words_.load_at(0, its, equal.size(), its);
                              sort_few(words_, its, equal.size(), 0);
                            }
                          });
    return true;
  }

  /// Returns whether a sample contains duplicates of a first word.
  [[nodiscard]] bool repeats() const {
    const machine::List<std::uint64_t> sample = sorted_sample(words_, n_);
    return std::adjacent_find(sample.begin(), sample.end()) != sample.end();
  }

  void number(index_t first, index_t n) {
    std::uint64_t numbers[rows_at_once];
    words_.number(first, first + n, numbers);
    for (index_t j = 0; j < n; ++j) pairs_[first + j].index = numbers[j];
  }

  /// Loads the keys' first words into the pairs; returns their number.
  index_t load_first() {
    for_words(words_, n_, 1, [&](const std::uint64_t* bits, index_t, index_t first, index_t n) {
      number(first, n);
      for (index_t j = 0; j < n; ++j) pairs_[first + j].key = bits[j];
    });
    return 1;
  }

  /// Loads the differing bits of the first words, as many as fit 64 bits; returns the number of
  /// complete words.
  index_t load_packed() {
    const machine::List<Extent> extents = extents_of_words();
    machine::List<int> shifts;  // left shifts
    int room = 64;
    for (std::size_t w = 0; w < extents.size() && room > 0; ++w)
      shifts.push_back(room -= extents[w].bits());
    const auto taken = static_cast<index_t>(shifts.size());
    for_words(words_, n_, taken,
              [&](const std::uint64_t* bits, index_t word, index_t first, index_t n) {
                const std::uint64_t least = extents[static_cast<std::size_t>(word)].least;
                const int shift = shifts[static_cast<std::size_t>(word)];
                if (word == 0) number(first, n);
                for (index_t j = 0; j < n; ++j) {
                  const std::uint64_t above = bits[j] - least;
                  const std::uint64_t digit = shift >= 64  ? 0
                                              : shift >= 0 ? above << shift
                                                           : above >> -shift;
                  pairs_[first + j].key = word == 0 ? digit : pairs_[first + j].key | digit;
                }
              });
    return room < 0 ? taken - 1 : taken;
  }

  [[nodiscard]] machine::List<Extent> extents_of_words() const {
    machine::List<Extent> all(static_cast<std::size_t>(words_.count()));
    std::mutex mutex;
    for_words(words_, n_, words_.count(),
              [&](const std::uint64_t* bits, index_t word, index_t, index_t n) {
                Extent mine;
                for (index_t j = 0; j < n; ++j) mine.add({bits[j], bits[j]});
                const std::lock_guard lock(mutex);
                all[static_cast<std::size_t>(word)].add(mine);
              });
    return all;
  }

  /// Sorts pairs with equal keys further by the words from `next` on.
  void sort_equal_ones(EqualRange range, index_t next) {
    if (next >= words_.count()) return;
    machine::List<EqualRange> few, many;
    std::mutex mutex;
    machine::parallel_for(range.begin, range.end, rows_of_task, [&](index_t begin, index_t end) {
      const machine::List<EqualRange> mine =
          equal_ones(range, begin, end, [&](index_t i) { return pairs_[i].key; });
      for (const EqualRange& equal : mine)  // loads all rows first: they are scattered in memory
        words_.load_at(next, pairs_ + equal.begin, equal.size(), spare_ + equal.begin);
      const std::lock_guard lock(mutex);
      for (const EqualRange& equal : mine) (equal.size() <= most_few ? few : many).push_back(equal);
    });
    const auto take_words = [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) pairs_[i].key = spare_[i].key;
    };
    machine::parallel_for(0, static_cast<index_t>(few.size()), rows_of_task / 64,
                          [&](index_t begin, index_t end) {
                            for (index_t f = begin; f < end; ++f) {
                              const EqualRange equal = few[static_cast<std::size_t>(f)];
                              take_words(equal.begin, equal.end);
                              sort_few(words_, pairs_ + equal.begin, equal.size(), next);
                            }
                          });
    for (const EqualRange& equal : many) {
      machine::parallel_for(equal.begin, equal.end, rows_of_task, take_words);
      const auto first = static_cast<std::size_t>(equal.begin),
                 n = static_cast<std::size_t>(equal.size());
      sort_pairs(kernel_, all_.subspan(first, n), all_spare_.subspan(first, n), tuning_);
      sort_equal_ones(equal, next + 1);
    }
  }

  Words words_;
  index_t n_;
  std::span<Pair> all_, all_spare_;
  Pair *pairs_, *spare_;
  std::string_view kernel_;
  Tuning tuning_;
};

}  // namespace tessera::inline v1::sort
