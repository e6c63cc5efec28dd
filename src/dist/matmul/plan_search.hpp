#pragma once
// Costs, choices and containers of the search of a recursive plan; private to this folder.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/index.hpp"

namespace tessera::inline v1::dist::matmul {

/// Dimension to cut; k: at a leaf that separates few nodes of the summation tree.
enum class Cut { none, m, n, k, k_evenly };

/// A range of ranks.
struct RankRange {
  index_t first = 0, ranks = 0;
};

/// The cost of a group: the worst rank's words and arithmetic, and the words of all ranks, which
/// share the network.
struct Cost {
  double worst = 0, words = 0;
  [[nodiscard]] double of(index_t ranks) const {
    return worst + words / static_cast<double>(ranks);
  }
  friend Cost operator+(const Cost& a, const Cost& b) {
    return {std::max(a.worst, b.worst), a.words + b.words};
  }
};

struct Choice {
  Cut cut = Cut::none;
  index_t first_ranks = 0;  // in the first group
  Cost cost;
};

/// Memoised choices by part and group, a hash table: a search looks up some 10^4 times at 127
/// ranks.
class Known {
 public:
  struct MemoKey {
    std::uint64_t part = 0, group = 0;
    friend bool operator==(const MemoKey&, const MemoKey&) = default;
  };

  Known() : entries_(1 << 10) {}

  [[nodiscard]] const Choice* find(const MemoKey& key) const {
    const MemoEntry& entry = entries_[place(key)];
    return entry.full ? &entry.choice : nullptr;
  }
  void add(const MemoKey& key, const Choice& choice) {
    if (2 * ++count_ > entries_.size()) {
      std::vector<MemoEntry> old(2 * entries_.size());
      old.swap(entries_);
      for (const MemoEntry& entry : old)
        if (entry.full) entries_[place(entry.key)] = entry;
    }
    entries_[place(key)] = {key, choice, true};
  }

 private:
  struct MemoEntry {
    MemoKey key;
    Choice choice;
    bool full = false;
  };

  /// Returns the slot of the key, or the slot to insert it.
  [[nodiscard]] std::size_t place(const MemoKey& key) const {
    std::uint64_t hash = (key.part ^ (key.group * 0xD1B54A32D192ED03)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash) & mask;
    while (entries_[at].full && !(entries_[at].key == key)) at = (at + 1) & mask;
    return at;
  }

  std::vector<MemoEntry> entries_;
  std::size_t count_ = 0;
};

/// A vector of at most `most` values without allocation.
template <class T, std::size_t most>
class Few {
 public:
  void push(const T& value) { values_[size_++] = value; }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() const { return values_.begin() + static_cast<std::ptrdiff_t>(size_); }
  [[nodiscard]] bool has(const T& value) const { return std::find(begin(), end(), value) != end(); }
  /// Inserts a value in order, unless present.
  void insert(const T& value) {
    if (has(value)) return;
    std::size_t at = size_++;
    for (; at > 0 && value < values_[at - 1]; --at) values_[at] = values_[at - 1];
    values_[at] = value;
  }

 private:
  std::array<T, most> values_{};
  std::size_t size_ = 0;
};

}  // namespace tessera::inline v1::dist::matmul
