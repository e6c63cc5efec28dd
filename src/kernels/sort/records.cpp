// The first bits of every key are sorted with the row's number, in one word of 64 bits where a sample has no
// two rows alike in what room there is; else the first eight bytes in a pair, or, where a sample has these
// twice, as many bytes as 64 bits hold without what no two rows differ in. What is equal goes on by the next
// eight bytes. Then each row goes to its place, once.

#include "kernels/sort/records.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "kernels/sort/common.hpp"
#include "kernels/sort/permute.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/buffer.hpp"

namespace tessera::sort {
namespace {

constexpr index_t word_bytes = 8;
constexpr index_t grain = 1 << 14;     // rows of one task
constexpr index_t most_few = 1 << 10;  // equal keys that a thread sorts further by itself
constexpr index_t most_samples = 1 << 12;

/// Least and greatest of a word of the keys.
struct Extent {
  std::uint64_t least = ~std::uint64_t{0}, most = 0;

  void add(const Extent& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
  [[nodiscard]] int bits() const { return bit_length(most - least); }
};

class ByKey {
 public:
  ByKey(const std::byte* rows, index_t row_bytes, index_t n, const RowKey& key)
      : rows_(rows),
        row_bytes_(row_bytes),
        n_(n),
        key_(key),
        flip_(key.order == Order::descending ? ~std::uint64_t{0} : 0) {}

  void sort() {
    if (n_ == 0) return;
    const std::vector<std::uint64_t> sample = sorted_sample();
    if (sort_words(sample)) return;
    const bool repeats = std::adjacent_find(sample.begin(), sample.end()) != sample.end();
    pairs_ = machine::Buffer<Pair>(n_);
    spare_ = machine::Buffer<Pair>(n_);
    const index_t taken = key_.bytes > word_bytes && repeats ? load_packed() : load_first();
    sort_pairs("auto", pairs_.span(), spare_.span());
    sort_equal_ones({0, n_}, taken);
  }
  /// Of the sorted rows, as long as this lives.
  [[nodiscard]] OrderInWords order() const {
    if (words_.size() > 0) return {.word = words_.data(), .mask = number_mask()};
    return {.word = &pairs_.data()->index, .stride = 2};
  }
  /// Brings rows into the order, which is lost.
  void permute(const Rows& rows) {
    if (words_.size() > 0)
      permute_in_place(rows, words_.span(), number_mask());
    else
      permute_in_place(rows, order());
  }

 private:
  struct Range {
    index_t begin, end;
    [[nodiscard]] index_t size() const { return end - begin; }
  };

  /// Bytes [8 word, 8 word + 8) of a row's key as a number, or as many of them as there are.
  [[nodiscard]] std::uint64_t word(index_t row, index_t word) const {
    const std::byte* const first = rows_ + row * row_bytes_ + key_.begin + word_bytes * word;
    const index_t bytes = std::min(word_bytes, key_.bytes - word_bytes * word);
    std::uint64_t bits = 0;
    if (bytes == word_bytes) {
      for (int b = 0; b < 8; ++b) bits |= std::to_integer<std::uint64_t>(first[b]) << (56 - 8 * b);
    } else {
      for (index_t b = 0; b < bytes; ++b) bits = bits << 8 | std::to_integer<std::uint64_t>(first[b]);
    }
    return bits ^ flip_;
  }

  /// Of first words.
  [[nodiscard]] std::vector<std::uint64_t> sorted_sample() const {
    const index_t n = std::min(n_, most_samples);
    std::vector<std::uint64_t> sample;
    for (index_t s = 0; s < n; ++s) sample.push_back(word(s * (n_ / n), 0));
    std::sort(sample.begin(), sample.end());
    return sample;
  }

  /// Low bits of a word that hold a row's number.
  [[nodiscard]] int number_bits() const { return bit_length(static_cast<std::uint64_t>(n_ - 1)); }
  [[nodiscard]] std::uint64_t number_mask() const { return (std::uint64_t{1} << number_bits()) - 1; }

  /// Sorts words, in an eighth of the memory that pairs take; not where a sample has equal ones.
  [[nodiscard]] bool sort_words(const std::vector<std::uint64_t>& sample) {
    const int same = std::countl_zero(sample.front() ^ sample.back());  // first bits of all, by the sample
    const auto kept = [=, this](std::uint64_t bits) { return bits << same >> number_bits(); };
    const auto alike = [&](std::uint64_t a, std::uint64_t b) { return kept(a) == kept(b); };
    if (same == 64 || std::adjacent_find(sample.begin(), sample.end(), alike) != sample.end() ||
        !load_words(sample.front(), same))
      return false;
    machine::Buffer<std::uint64_t> scratch(n_);
    sort_keys<std::uint64_t>("auto", words_.span(), scratch.span());
    if (key_.bytes > word_bytes || number_bits() > same) sort_equal_words();
    return true;
  }

  /// Not if some key's first bits are not those that all were to have.
  [[nodiscard]] bool load_words(std::uint64_t first, int same) {
    words_ = machine::Buffer<std::uint64_t>(n_);
    std::atomic<std::uint64_t> differing = 0;
    machine::parallel_for(0, n_, grain, [&](index_t begin, index_t end) {
      std::uint64_t its = 0;
      for (index_t j = begin; j < end; ++j) {
        const std::uint64_t bits = word(j, 0);
        its |= bits ^ first;
        words_[j] = (bits << same & ~number_mask()) | static_cast<std::uint64_t>(j);
      }
      differing |= its;
    });
    if (std::countl_zero(differing.load()) >= same) return true;
    words_ = {};
    return false;
  }

  /// Words alike but for the numbers go on by all of the key.
  void sort_equal_words() {
    const std::vector<Range> found =
        all_equal_ones({0, n_}, [&](index_t i) { return words_[i] >> number_bits(); });
    const auto ranges = static_cast<index_t>(found.size());
    machine::parallel_for(0, ranges, grain / 64, [&](index_t begin, index_t end) {
      const std::span<const Range> mine(found.data() + begin, found.data() + end);
      std::vector<Pair> pairs;
      for (const Range& equal : mine) {
        for (index_t i = equal.begin; i < equal.end; ++i) {
          const std::uint64_t row = words_[i] & number_mask();
          pairs.push_back({word(static_cast<index_t>(row), 0), row});
        }
      }
      Pair* next = pairs.data();
      for (const Range& equal : mine) {
        sort_few(next, equal.size(), 0);
        for (index_t i = equal.begin; i < equal.end; ++i)
          words_[i] = (words_[i] & ~number_mask()) | next++->index;
      }
    });
  }

  /// The keys' first words into the pairs. Returns how many words that is.
  index_t load_first() {
    machine::parallel_for(0, n_, grain, [&](index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j) pairs_[j] = {word(j, 0), static_cast<std::uint64_t>(j)};
    });
    return 1;
  }

  /// Instead, the first words as far as 64 bits hold what differs in them. Returns how many are held whole.
  index_t load_packed() {
    const std::vector<Extent> extents = extents_of_words();
    std::vector<int> shifts;  // to the left
    int room = 64;
    for (std::size_t w = 0; w < extents.size() && room > 0; ++w) shifts.push_back(room -= extents[w].bits());
    machine::parallel_for(0, n_, grain, [&](index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j) {
        std::uint64_t bits = 0;
        for (std::size_t w = 0; w < shifts.size(); ++w) {
          const std::uint64_t above = word(j, static_cast<index_t>(w)) - extents[w].least;
          bits |= shifts[w] >= 64 ? 0 : shifts[w] >= 0 ? above << shifts[w] : above >> -shifts[w];
        }
        pairs_[j] = {bits, static_cast<std::uint64_t>(j)};
      }
    });
    return static_cast<index_t>(shifts.size()) - (room < 0 ? 1 : 0);
  }

  [[nodiscard]] std::vector<Extent> extents_of_words() const {
    const auto words = static_cast<std::size_t>(ceil_div(key_.bytes, word_bytes));
    std::vector<Extent> all(words);
    std::mutex mutex;
    machine::parallel_for(0, n_, grain, [&](index_t begin, index_t end) {
      std::vector<Extent> mine(words);
      for (index_t j = begin; j < end; ++j) {
        for (std::size_t w = 0; w < words; ++w) {
          const std::uint64_t bits = word(j, static_cast<index_t>(w));
          mine[w].add({bits, bits});
        }
      }
      const std::lock_guard lock(mutex);
      for (std::size_t w = 0; w < words; ++w) all[w].add(mine[w]);
    });
    return all;
  }

  /// Pairs of these whose keys are equal go on by the words from `next` on.
  void sort_equal_ones(Range range, index_t next) {
    if (word_bytes * next >= key_.bytes) return;
    std::vector<Range> few, many;
    for (const Range& equal : all_equal_ones(range, [&](index_t i) { return pairs_[i].key; }))
      (equal.size() <= most_few ? few : many).push_back(equal);
    const auto take_words = [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) pairs_[i].key = word_of(pairs_[i], next);
    };
    machine::parallel_for(0, static_cast<index_t>(few.size()), grain / 64, [&](index_t begin, index_t end) {
      const std::span<const Range> mine(few.data() + begin, few.data() + end);
      for (const Range& equal : mine)
        take_words(equal.begin, equal.end);  // first: rows are far from each other
      for (const Range& equal : mine) sort_few(pairs_.data() + equal.begin, equal.size(), next);
    });
    for (const Range& equal : many) {
      machine::parallel_for(equal.begin, equal.end, grain, take_words);
      const auto first = static_cast<std::size_t>(equal.begin), n = static_cast<std::size_t>(equal.size());
      sort_pairs("auto", pairs_.span().subspan(first, n), spare_.span().subspan(first, n));
      sort_equal_ones(equal, next + 1);
    }
  }

  /// The stretches of two or more equal keys in `range`, in any order.
  template <class KeyAt>
  [[nodiscard]] static std::vector<Range> all_equal_ones(Range range, const KeyAt& key) {
    std::vector<Range> found;
    std::mutex mutex;
    machine::parallel_for(range.begin, range.end, grain, [&](index_t begin, index_t end) {
      const std::vector<Range> mine = equal_ones(range, begin, end, key);
      const std::lock_guard lock(mutex);
      found.insert(found.end(), mine.begin(), mine.end());
    });
    return found;
  }

  /// Those that begin in [begin, end).
  template <class KeyAt>
  [[nodiscard]] static std::vector<Range> equal_ones(Range range, index_t begin, index_t end,
                                                     const KeyAt& key) {
    std::vector<Range> found;
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
  void sort_few(Pair* pairs, index_t n, index_t at_hand) const {
    if (n <= 16)
      insertion_sort(pairs, n);
    else
      std::sort(pairs, pairs + n);
    const index_t next = at_hand + 1;
    if (word_bytes * next >= key_.bytes) return;
    for (const Range& equal : equal_ones({0, n}, 0, n, [=](index_t i) { return pairs[i].key; })) {
      for (index_t i = equal.begin; i < equal.end; ++i) pairs[i].key = word_of(pairs[i], next);
      sort_few(pairs + equal.begin, equal.size(), next);
    }
  }

  [[nodiscard]] std::uint64_t word_of(const Pair& pair, index_t word) const {
    return this->word(static_cast<index_t>(pair.index), word);
  }

  const std::byte* rows_;
  index_t row_bytes_, n_;
  RowKey key_;
  std::uint64_t flip_;
  machine::Buffer<std::uint64_t> words_;
  machine::Buffer<Pair> pairs_, spare_;
};

}  // namespace

void argsort_records(const std::byte* rows, index_t row_bytes, const RowKey& key,
                     std::span<std::uint64_t> order, int threads) {
  TESSERA_EXPECTS(key.begin >= 0 && key.begin + key.bytes <= row_bytes);
  machine::parallel(threads, [&] {
    ByKey by_key(rows, row_bytes, static_cast<index_t>(order.size()), key);
    by_key.sort();
    const OrderInWords found = by_key.order();
    machine::parallel_for(0, static_cast<index_t>(order.size()), grain, [&](index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j) order[static_cast<std::size_t>(j)] = found[j];
    });
  });
}

void sort_records(const Rows& rows, const RowKey& key, int threads) {
  TESSERA_EXPECTS(key.begin >= 0 && key.begin + key.bytes <= rows.bytes);
  if (rows.n < 2 || key.bytes == 0) return;
  machine::parallel(threads, [&] {
    ByKey by_key(rows.data, rows.bytes, rows.n, key);
    by_key.sort();
    by_key.permute(rows);
  });
}

}  // namespace tessera::sort
