// The first eight bytes of every key are sorted with the row's number, or, where a sample has these twice, as
// many bytes as 64 bits hold without what no two rows differ in. What is equal goes on by the next eight
// bytes. Then each row goes to its place, once.

#include "kernels/sort/records.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "kernels/sort/common.hpp"
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
        flip_(key.order == Order::descending ? ~std::uint64_t{0} : 0),
        pairs_(n),
        spare_(n) {}

  void sort() {
    const index_t taken = key_.bytes > word_bytes && repeats() ? load_packed() : load_first();
    sort_pairs("auto", pairs_.span(), spare_.span());
    sort_equal_ones({0, n_}, taken);
  }
  void get_order(std::uint64_t* order) const {
    machine::parallel_for(0, n_, grain, [&](index_t begin, index_t end) {
      for (index_t j = begin; j < end; ++j) order[j] = pairs_[j].index;
    });
  }
  /// In memory of its own.
  [[nodiscard]] std::span<const std::uint64_t> order() {
    auto* const order = reinterpret_cast<std::uint64_t*>(spare_.data());
    get_order(order);
    return {order, static_cast<std::size_t>(n_)};
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

  /// Whether a sample has some first word twice.
  [[nodiscard]] bool repeats() const {
    const index_t n = std::min(n_, most_samples);
    std::vector<std::uint64_t> sample;
    for (index_t s = 0; s < n; ++s) sample.push_back(word(s * (n_ / n), 0));
    std::sort(sample.begin(), sample.end());
    return std::adjacent_find(sample.begin(), sample.end()) != sample.end();
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
    std::mutex mutex;
    machine::parallel_for(range.begin, range.end, grain, [&](index_t begin, index_t end) {
      const std::vector<Range> mine = equal_ones(range, begin, end);
      for (const Range& equal : mine)  // all rows first: they are far from each other
        for (index_t i = equal.begin; i < equal.end; ++i) spare_[i].key = word_of(i, next);
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
      sort_pairs("auto", pairs_.span().subspan(first, n), spare_.span().subspan(first, n));
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
      insertion_sort(pairs_.data() + range.begin, range.size());
    else
      std::sort(pairs_.data() + range.begin, pairs_.data() + range.end);
    const index_t next = at_hand + 1;
    if (word_bytes * next >= key_.bytes) return;
    for (const Range& equal : equal_ones(range, range.begin, range.end)) {
      for (index_t i = equal.begin; i < equal.end; ++i) pairs_[i].key = word_of(i, next);
      sort_few(equal, next);
    }
  }

  [[nodiscard]] std::uint64_t word_of(index_t pair, index_t word) const {
    return this->word(static_cast<index_t>(pairs_[pair].index), word);
  }

  const std::byte* rows_;
  index_t row_bytes_, n_;
  RowKey key_;
  std::uint64_t flip_;
  machine::Buffer<Pair> pairs_, spare_;
};

}  // namespace

void argsort_records(const std::byte* rows, index_t row_bytes, const RowKey& key,
                     std::span<std::uint64_t> order, int threads) {
  TESSERA_EXPECTS(key.begin >= 0 && key.begin + key.bytes <= row_bytes);
  machine::parallel(threads, [&] {
    ByKey by_key(rows, row_bytes, static_cast<index_t>(order.size()), key);
    by_key.sort();
    by_key.get_order(order.data());
  });
}

void sort_records(const Rows& rows, const RowKey& key, int threads) {
  TESSERA_EXPECTS(key.begin >= 0 && key.begin + key.bytes <= rows.bytes);
  if (rows.n < 2 || key.bytes == 0) return;
  machine::parallel(threads, [&] {
    ByKey by_key(rows.data, rows.bytes, rows.n, key);
    by_key.sort();
    permute_in_place(rows, by_key.order());
  });
}

}  // namespace tessera::sort
