// Nearly sorted inputs: separates the displaced items run by run (after the drop-merge sort of
// Ernerfeldt 2017), sorts them and moves all items into place. n + O(d log n) steps for d displaced
// items.

#include "kernels/sort/displaced.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/sort/common.hpp"
#include "kernels/sort/verify_kernels.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {
namespace {

/// A sorted range data[begin:end] and its destination.
struct Stretch {
  index_t begin, end;
  index_t to = 0;
  [[nodiscard]] index_t size() const { return end - begin; }
};

/// The order by mapped bits; of pairs, their own.
template <class Item>
struct Less {
  KeyMap<KeyBits<Item>> map;
  bool operator()(const Item& a, const Item& b) const {
    if constexpr (std::is_same_v<Item, Pair>)
      return a < b;
    else
      return map.to_bits(a) < map.to_bits(b);
  }
};

bool in_order(const std::uint32_t* data, index_t n, const KeyMap<std::uint32_t>& map, Order order) {
  return TESSERA_OF_ISA(machine::isa(), keys_in_order32)(data, n, map, order);
}
bool in_order(const std::uint64_t* data, index_t n, const KeyMap<std::uint64_t>& map, Order order) {
  return TESSERA_OF_ISA(machine::isa(), keys_in_order64)(data, n, map, order);
}
bool in_order(const Pair* data, index_t n, const KeyMap<std::uint64_t>&, Order order) {
  return TESSERA_OF_ISA(machine::isa(), pairs_in_order)(data, n, order);
}

/// Returns the i in [begin, end) with data[i] below data[i - 1]; begin > 0.
template <class Item>
machine::List<index_t> descents(const Block<Item>& block, index_t begin, index_t end) {
  constexpr index_t at_once = 256;
  const Item* const data = block.data;
  const Less<Item> less{block.map};
  machine::List<index_t> found;
  for (index_t from = begin, to = 0; from < end; from = to) {
    to = std::min((from / at_once + 1) * at_once, end);  // whole cache lines
    if (in_order(data + from - 1, to - from + 1, block.map, Order::ascending)) continue;
    for (index_t i = from; i < to; ++i) {
      if (less(data[i], data[i - 1])) found.push_back(i);
    }
  }
  return found;
}

/// Returns the same on the team.
template <class Item>
machine::List<index_t> all_descents(const Block<Item>& block, index_t begin, index_t end) {
  constexpr index_t grain = 8 * task_grain;
  machine::List<machine::List<index_t>> parts(
      static_cast<std::size_t>(ceil_div(end - begin, grain)));
  machine::parallel_for(0, static_cast<index_t>(parts.size()), 1, [&](index_t part, index_t) {
    const index_t first = begin + part * grain;
    parts[static_cast<std::size_t>(part)] = descents(block, first, std::min(end, first + grain));
  });
  machine::List<index_t> found;
  for (const auto& part : parts) found.insert(found.end(), part.begin(), part.end());
  return found;
}

/// A sieve that separates the items that keep their order from the displaced ones.
template <class Item>
class Sieve {
 public:
  Sieve(const Block<Item>& block, index_t most)
      : data_(block.data), less_{block.map}, most_(most) {}

  /// Takes the next run; returns false, without copying this run's displaced items, if more than
  /// `most` would be displaced.
  bool take(index_t begin, index_t end) {
    if (!kept_.empty()) {
      const index_t first = fewest(begin, std::min(end - begin, most_ + 1));
      const index_t last = begin + first < end ? above(data_[begin + first], most_ + 1) : 0;
      if (static_cast<index_t>(out_.size()) + first + last > most_) return false;
      drop_last(last);
      drop(begin, begin + first);
      begin += first;
    }
    if (begin < end) keep({begin, end});
    return true;
  }
  [[nodiscard]] const machine::List<Stretch>& kept() const { return kept_; }
  [[nodiscard]] machine::List<Item>& out() { return out_; }

 private:
  /// Returns how many items at the beginning of the run to displace so that, together with the kept
  /// ones above its remainder, they are fewest; tries 0 to 4, 8, 16, ... and all below the last
  /// kept item.
  [[nodiscard]] index_t fewest(index_t begin, index_t n) const {
    const index_t low = lower_bound(data_ + begin, n, data_[kept_.back().end - 1], less_);
    index_t best = low, cost = low;
    for (index_t first = 0; first < low && first < cost;
         first = first < 4 ? first + 1 : 2 * first) {
      const index_t together = first + above(data_[begin + first], cost - first);
      if (together < cost) best = first, cost = together;
    }
    return best;
  }
  /// Returns how many kept items are greater than x; a lower bound of at least `enough` suffices.
  [[nodiscard]] index_t above(const Item& x, index_t enough) const {
    index_t count = 0;
    for (auto s = kept_.rbegin(); s != kept_.rend() && count < enough; ++s) {
      const index_t here = s->size() - upper_bound(data_ + s->begin, s->size(), x, less_);
      count += here;
      if (here < s->size()) break;
    }
    return count;
  }
  void drop(index_t begin, index_t end) { out_.insert(out_.end(), data_ + begin, data_ + end); }
  void drop_last(index_t count) {
    while (count > 0) {
      Stretch& last = kept_.back();
      const index_t here = std::min(count, last.size());
      drop(last.end - here, last.end);
      last.end -= here;
      count -= here;
      if (last.size() == 0) kept_.pop_back();
    }
  }
  void keep(const Stretch& s) {
    if (!kept_.empty() && kept_.back().end == s.begin)
      kept_.back().end = s.end;
    else
      kept_.push_back(s);
  }

  const Item* data_;
  Less<Item> less_;
  index_t most_;
  machine::List<Stretch> kept_;
  machine::List<Item> out_;
};

/// Cuts the kept stretches where sorted items belong between them, and computes all destinations.
template <class Item>
machine::List<Stretch> places(const Block<Item>& block, const machine::List<Stretch>& kept,
                              const machine::List<Item>& items, machine::List<index_t>& place) {
  const Item* const data = block.data;
  const Less<Item> less{block.map};
  machine::List<Stretch> moves;
  std::size_t next = 0;
  index_t to = 0;
  for (Stretch rest : kept) {
    while (next < items.size() && less(items[next], data[rest.end - 1])) {
      const index_t cut = upper_bound(data + rest.begin, rest.size(), items[next], less);
      if (cut > 0) moves.push_back({rest.begin, rest.begin + cut, to});
      rest.begin += cut;
      to += cut;
      place[next++] = to++;
    }
    moves.push_back({rest.begin, rest.end, to});
    to += rest.size();
  }
  for (; next < items.size(); ++next) place[next] = to++;
  return moves;
}

/// Moves in place: stretches that move down from the first, those that move up from the last, so
/// that no move overwrites items yet to be moved.
template <class Item>
void move_all(Item* data, const machine::List<Stretch>& moves) {
  const auto move = [&](const Stretch& s) {
    std::memmove(data + s.to, data + s.begin, static_cast<std::size_t>(s.size()) * sizeof(Item));
  };
  for (auto s = moves.begin(); s != moves.end(); ++s) {
    if (s->to < s->begin) move(*s);
  }
  for (auto s = moves.rbegin(); s != moves.rend(); ++s) {
    if (s->to > s->begin) move(*s);
  }
}

}  // namespace

template <class Item>
bool in_order(const Block<Item>& block, Order order) {
  std::atomic<bool> sorted = true;
  machine::parallel_for(0, block.n, 8 * task_grain, [&](index_t begin, index_t end) {
    const index_t before = std::max<index_t>(begin, 1) - 1;
    if (sorted && !in_order(block.data + before, end - before, block.map, order)) sorted = false;
  });
  return sorted;
}

template <class Item>
bool put_back_displaced(const Block<Item>& block) {
  const index_t n = block.n;
  if (n < 2) return true;
  const index_t most = n / displaced_share;
  index_t at_once = index_t{1} << 18;  // the first runs detect most inputs that do not qualify
  Sieve<Item> sieve(block, most);
  index_t begin = 0, runs = 0;
  for (index_t from = 1, to = 0; from < n; from = to) {
    to = std::min(n, from + at_once);
    if (team() > 1) at_once = n;
    const machine::List<index_t> starts = all_descents(block, from, to);
    runs += static_cast<index_t>(starts.size());
    if (runs > most) return false;
    for (const index_t end : starts) {
      if (!sieve.take(begin, end)) return false;
      begin = end;
    }
  }
  if (!sieve.take(begin, n)) return false;
  machine::List<Item>& items = sieve.out();
  std::sort(items.begin(), items.end(), Less<Item>{block.map});
  machine::List<index_t> place(items.size());
  move_all(block.data, places(block, sieve.kept(), items, place));
  for (std::size_t i = 0; i < items.size(); ++i) block.data[place[i]] = items[i];
  return true;
}

template bool in_order(const Block<std::uint32_t>&, Order);
template bool in_order(const Block<std::uint64_t>&, Order);
template bool in_order(const Block<Pair>&, Order);
template bool put_back_displaced(const Block<std::uint32_t>&);
template bool put_back_displaced(const Block<std::uint64_t>&);
template bool put_back_displaced(const Block<Pair>&);

}  // namespace tessera::inline v1::sort
