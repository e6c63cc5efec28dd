#pragma once
// Rows sorted by keys of several words: the first word of every key is sorted with the row's number, or,
// where a sample has these twice, as many words as 64 bits hold without what no two rows differ in. What is
// equal goes on by the next word.

#include <algorithm>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/sort/common.hpp"
#include "kernels/sort/variants.hpp"

namespace tessera::sort {

/// Words says of n rows what they are sorted by, a word's order being that of unsigned numbers:
///   index_t count() const;                                      words of a row
///   void load(index_t word, index_t begin, index_t end, std::uint64_t* bits) const;       of rows begin ...
///   end void number(index_t begin, index_t end, Pair* to) const;    to[i].index = a number of row begin + i
///   void load_at(index_t word, const Pair* rows, index_t n, Pair* to) const;  to[i].key = of row
///   rows[i].index
/// Numbers ascend.
template <class Words>
class ByWords {
 public:
  /// pairs and spare have an element a row; both are overwritten. What `kernel` names sorts pairs, as
  /// sort_pairs() says.
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

  /// Afterwards pairs[j].index is the number of the row that belongs at j, stably. On the threads of the
  /// region it is called in.
  void sort() {
    if (n_ == 0) return;
    const index_t taken = words_.count() > 1 && repeats() ? load_packed() : load_first();
    sort_pairs(kernel_, all_, all_spare_, tuning_);
    sort_equal_ones({0, n_}, taken);
  }
  /// order[j] = pairs[j].index.
  void get_order(std::uint64_t* order) const {
    machine::parallel_for(0, n_, grain, [&](index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j) order[j] = pairs_[j].index;
    });
  }

 private:
  static constexpr index_t grain = 1 << 14;     // rows of one task
  static constexpr index_t at_once = 1 << 10;   // rows whose words lie in the first-level cache
  static constexpr index_t most_few = 1 << 10;  // equal keys that a thread sorts further by itself
  static constexpr index_t most_samples = 1 << 12;

  /// Least and greatest of a word of the keys.
  struct Extent {
    std::uint64_t least = ~std::uint64_t{0}, most = 0;

    void add(const Extent& other) {
      least = std::min(least, other.least);
      most = std::max(most, other.most);
    }
    [[nodiscard]] int bits() const { return bit_length(most - least); }
  };
  struct Range {
    index_t begin, end;
    [[nodiscard]] index_t size() const { return end - begin; }
  };

  /// f(bits, first, n): this word of the rows [first, first + n), all of them in parallel.
  template <class F>
  void for_words(index_t word, const F& f) const {
    machine::parallel_for(0, n_, grain, [&](index_t begin, index_t end) {
      std::uint64_t bits[at_once];
      for (index_t j = begin; j < end; j += at_once) {
        const index_t n = std::min(at_once, end - j);
        words_.load(word, j, j + n, bits);
        f(bits, j, n);
      }
    });
  }

  /// Whether a sample has some first word twice.
  [[nodiscard]] bool repeats() const {
    const index_t n = std::clamp<index_t>(n_ / 64, std::min<index_t>(n_, 64), most_samples);
    std::vector<std::uint64_t> sample(static_cast<std::size_t>(n));
    for (index_t s = 0; s < n; ++s) {
      const index_t row = s * (n_ / n);
      words_.load(0, row, row + 1, &sample[static_cast<std::size_t>(s)]);
    }
    std::sort(sample.begin(), sample.end());
    return std::adjacent_find(sample.begin(), sample.end()) != sample.end();
  }

  /// The keys' first words into the pairs. Returns how many words that is.
  index_t load_first() {
    for_words(0, [&](const std::uint64_t* bits, index_t first, index_t n) {
      words_.number(first, first + n, pairs_ + first);
      for (index_t j = 0; j < n; ++j) pairs_[first + j].key = bits[j];
    });
    return 1;
  }

  /// Instead, the first words as far as 64 bits hold what differs in them. Returns how many are held whole.
  index_t load_packed() {
    index_t word = 0;
    for (int room = 64; word < words_.count() && room > 0; ++word) {
      const Extent extent = extent_of(word);
      const int shift = room - extent.bits();  // to the left
      for_words(word, [&](const std::uint64_t* bits, index_t first, index_t n) {
        if (word == 0) words_.number(first, first + n, pairs_ + first);
        for (index_t j = 0; j < n; ++j) {
          const std::uint64_t above = bits[j] - extent.least;
          const std::uint64_t digit = shift >= 64 ? 0 : shift >= 0 ? above << shift : above >> -shift;
          pairs_[first + j].key = word == 0 ? digit : pairs_[first + j].key | digit;
        }
      });
      if (shift < 0) return word;
      room = shift;
    }
    return word;
  }

  [[nodiscard]] Extent extent_of(index_t word) const {
    Extent all;
    std::mutex mutex;
    for_words(word, [&](const std::uint64_t* bits, index_t, index_t n) {
      Extent mine;
      for (index_t j = 0; j < n; ++j) mine.add({bits[j], bits[j]});
      const std::lock_guard lock(mutex);
      all.add(mine);
    });
    return all;
  }

  /// Pairs of these whose keys are equal go on by the words from `next` on.
  void sort_equal_ones(Range range, index_t next) {
    if (next >= words_.count()) return;
    std::vector<Range> few, many;
    std::mutex mutex;
    machine::parallel_for(range.begin, range.end, grain, [&](index_t begin, index_t end) {
      const std::vector<Range> mine = equal_ones(range, begin, end);
      for (const Range& equal : mine)  // all rows first: they are far from each other
        words_.load_at(next, pairs_ + equal.begin, equal.size(), spare_ + equal.begin);
      const std::lock_guard lock(mutex);
      for (const Range& equal : mine) (equal.size() <= most_few ? few : many).push_back(equal);
    });
    const auto take_words = [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) pairs_[i].key = spare_[i].key;
    };
    machine::parallel_for(0, static_cast<index_t>(few.size()), grain / 64, [&](index_t begin, index_t end) {
      for (index_t f = begin; f < end; ++f) {
        const Range equal = few[static_cast<std::size_t>(f)];
        take_words(equal.begin, equal.end);
        sort_few(equal, next);
      }
    });
    for (const Range& equal : many) {
      machine::parallel_for(equal.begin, equal.end, grain, take_words);
      const auto first = static_cast<std::size_t>(equal.begin), n = static_cast<std::size_t>(equal.size());
      sort_pairs(kernel_, all_.subspan(first, n), all_spare_.subspan(first, n), tuning_);
      sort_equal_ones(equal, next + 1);
    }
  }

  /// The stretches of two or more equal keys in `range` that begin in [begin, end).
  [[nodiscard]] std::vector<Range> equal_ones(Range range, index_t begin, index_t end) const {
    std::vector<Range> found;
    const auto key = [&](index_t i) { return pairs_[i].key; };
    for (index_t i = begin; i < end; ++i) {
      if (i + 1 == range.end || key(i) != key(i + 1) || (i > range.begin && key(i - 1) == key(i))) continue;
      index_t last = i + 1;
      while (last + 1 < range.end && key(last + 1) == key(i)) ++last;
      found.push_back({i, last + 1});
      i = last;
    }
    return found;
  }

  /// On this thread, by the word at hand and those behind it.
  void sort_few(Range range, index_t at_hand) {
    if (range.size() <= 16)
      insertion_sort(pairs_ + range.begin, range.size());
    else
      std::sort(pairs_ + range.begin, pairs_ + range.end);
    const index_t next = at_hand + 1;
    if (next >= words_.count()) return;
    for (const Range& equal : equal_ones(range, range.begin, range.end)) {
      words_.load_at(next, pairs_ + equal.begin, equal.size(), pairs_ + equal.begin);
      sort_few(equal, next);
    }
  }

  Words words_;
  index_t n_;
  std::span<Pair> all_, all_spare_;
  Pair *pairs_, *spare_;
  std::string_view kernel_;
  Tuning tuning_;
};

}  // namespace tessera::sort
