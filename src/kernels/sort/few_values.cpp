// Counting of few distinct values: one hash table per thread, merged and sorted, then runs filled
// from the counts. Every key is read once and written once.

#include "kernels/sort/few_values.hpp"

#include <algorithm>
#include <optional>

#include "kernels/sort/common.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {
namespace {

constexpr index_t most_values = 1 << 12;
constexpr int slot_bits =
    14;  // at most a quarter of the slots is filled; the filled ones fit a second-level cache

template <class B>
struct Value {
  B key;
  index_t count;  // 0: empty
};

/// A hash table with open addressing that counts each key.
template <class B>
class Tally {
 public:
  Tally() : slots_(std::size_t{1} << slot_bits, Value<B>{0, 0}) {}

  /// Adds keys; returns false if there are too many distinct values.
  [[nodiscard]] bool add(const B* keys, index_t n) {
    for (index_t i = 0; i < n; ++i)
      if (!add(keys[i], 1)) return false;
    return true;
  }
  [[nodiscard]] bool add(const Tally& other) {
    return std::all_of(other.slots_.begin(), other.slots_.end(),
                       [this](const Value<B>& v) { return v.count == 0 || add(v.key, v.count); });
  }
  [[nodiscard]] index_t values() const { return values_; }
  [[nodiscard]] index_t seen_once() const {
    return std::count_if(slots_.begin(), slots_.end(),
                         [](const Value<B>& v) { return v.count == 1; });
  }
  void append_to(machine::List<Value<B>>& values) const {
    std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(values),
                 [](const Value<B>& v) { return v.count > 0; });
  }

 private:
  [[nodiscard, gnu::always_inline]] bool add(B key, index_t count) {
    std::size_t at = slot_of(key);
    while (slots_[at].key != key || slots_[at].count == 0) {
      if (slots_[at].count == 0) {
        if (++values_ > most_values) return false;
        slots_[at].key = key;
        break;
      }
      at = (at + 1) % slots_.size();
    }
    slots_[at].count += count;
    return true;
  }
  /// Hashes by both halves of a product, which mixes bits up in the lower and down in the upper
  /// half: integers differ in their lower bits, floating-point numbers in their upper ones.
  static std::size_t slot_of(std::uint64_t key) {
    const Wide product = Wide{key} * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint64_t>(product ^ (product >> 64)) >> (64 - slot_bits);
  }

  machine::List<Value<B>> slots_;
  index_t values_ = 0;
};

/// Returns the distinct values, ascending; empty if there are too many.
template <class B>
machine::List<Value<B>> values_of(const Block<B>& block) {
  const index_t pieces = team();
  machine::List<std::optional<Tally<B>>> tallies(static_cast<std::size_t>(pieces));
  machine::parallel_for(0, pieces, 1, [&](index_t p, index_t) {
    const index_t begin = p * block.n / pieces, end = (p + 1) * block.n / pieces;
    Tally<B> tally;
    if (tally.add(block.data + begin, end - begin))
      tallies[static_cast<std::size_t>(p)] = std::move(tally);
  });
  machine::List<Value<B>> values;
  for (const auto& tally : tallies)
    if (!tally || (&tally != &tallies.front() && !tallies.front()->add(*tally))) return values;
  tallies.front()->append_to(values);
  std::sort(values.begin(), values.end(), [&](const Value<B>& a, const Value<B>& b) {
    return block.map.to_bits(a.key) < block.map.to_bits(b.key);
  });
  return values;
}

}  // namespace

template <class B>
Repeats glance_at_repeats(const Block<B>& block) {
  constexpr index_t stretches = 128, length = 32;  // as in a glance
  static_assert(stretches * length <= most_values);
  if (block.n < 16 * stretches * length) return {};
  Tally<B> tally;
  for (index_t s = 0; s < stretches; ++s)
    (void)tally.add(block.data + s * (block.n - length) / (stretches - 1), length);
  const auto share = [](index_t count) {
    return static_cast<double>(count) / static_cast<double>(stretches * length);
  };
  return {share(tally.seen_once()), share(tally.values())};
}

template <class B>
bool sort_few_values(const Block<B>& block) {
  const machine::List<Value<B>> values = values_of(block);
  if (values.empty()) return false;
  machine::List<index_t> ends;
  index_t end = 0;
  for (const auto& value : values) ends.push_back(end += value.count);
  machine::parallel_for(0, block.n, 8 * task_grain, [&](index_t begin, index_t last) {
    auto v =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    for (index_t i = begin; i < last; i = ends[v++])
      std::fill(block.data + i, block.data + std::min(ends[v], last), values[v].key);
  });
  return true;
}

template Repeats glance_at_repeats(const Block<std::uint32_t>&);
template Repeats glance_at_repeats(const Block<std::uint64_t>&);
template bool sort_few_values(const Block<std::uint32_t>&);
template bool sort_few_values(const Block<std::uint64_t>&);

}  // namespace tessera::inline v1::sort
