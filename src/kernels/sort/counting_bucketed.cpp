// Counting sort whose counters and output stay in cache. A small range is counted in one pass, per
// thread. A wider one is first distributed to buckets of adjacent keys; each bucket is counted
// separately, and then all are written. Plain keys need no placement: runs are filled from the
// counts.

#include <algorithm>

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/chunks.hpp"
#include "kernels/sort/counting.hpp"
#include "kernels/sort/counting_pairs.hpp"
#include "kernels/sort/radix_plan.hpp"
#include "kernels/sort/survey.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {
namespace {

constexpr index_t chunk_bytes = 1 << 10;
constexpr index_t most_few = 1 << 16;  // keys of a bucket that is counted in 16 bits

/// Fills to[0 : end - to] with the keys low + s, counts[s] times each; padded: writes four copies
/// of a key for any count and overwrites the surplus.
template <bool padded, class B, class Counter>
void fill_runs(B* to, const B* end, B low, const Counter* counts, index_t slots,
               const KeyMap<B>& map) {
  constexpr index_t at_once = 16;  // if few of the possible keys occur, most such groups are empty
  constexpr index_t copies = 4;
  for (index_t first = 0; first < slots; first += at_once) {
    const index_t last = std::min(slots, first + at_once);
    Counter any = 0;
    for (index_t s = first; s < last; ++s) any = static_cast<Counter>(any | counts[s]);
    if (any == 0) continue;
    for (index_t s = first; s < last; ++s) {
      const index_t count = counts[s];
      const B key = map.to_raw(static_cast<B>(low + static_cast<B>(s)));
      if (!padded || end - to < copies || count > copies)
        std::fill_n(to, count, key);
      else
        std::fill_n(to, copies, key);
      to += count;
    }
  }
}

/// Returns whether most of the possible keys occur in a sample of the counters: their counts are
/// then hard to predict.
template <class Counter>
bool most_occur(const Counter* counts, index_t slots) {
  const index_t looked_at = std::min<index_t>(slots, 1024);
  return 2 * (looked_at - std::count(counts, counts + looked_at, Counter{0})) > looked_at;
}

/// Writes the n keys of the counters, in order.
template <class B, class Counter>
void write_counted(B* to, index_t n, B low, const Counter* counts, index_t slots,
                   const KeyMap<B>& map) {
  if (most_occur(counts, slots))
    fill_runs<true>(to, to + n, low, counts, slots, map);
  else
    fill_runs<false>(to, to + n, low, counts, slots, map);
}

/// Counts the keys of the pieces, fewer than a Counter holds, in tables within a cache.
template <class B, class Counter>
void count_pieces(const machine::List<Piece<B>>& pieces, B low, index_t slots,
                  machine::List<Counter>& tables, Counter* counts) {
  tables.assign(2 * static_cast<std::size_t>(slots), 0);  // alternating, as in count_keys
  Counter *const first = tables.data(), *const second = first + slots;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const Piece<B>& after = pieces[std::min(p + 4, pieces.size() - 1)];
    for (index_t i = 0; i < after.n; i += 64 / index_t{sizeof(B)})
      __builtin_prefetch(after.data + i);
    index_t i = 0;
    for (; i + 1 < pieces[p].n; i += 2) {
      ++first[static_cast<B>(pieces[p].data[i] - low)];
      ++second[static_cast<B>(pieces[p].data[i + 1] - low)];
    }
    if (i < pieces[p].n) ++first[static_cast<B>(pieces[p].data[i] - low)];
  }
  for (index_t s = 0; s < slots; ++s) counts[s] = static_cast<Counter>(first[s] + second[s]);
}

/// Counts in four alternating tables, so that equal adjacent keys do not wait for each other's
/// increment.
template <class B>
void count_keys(const B* data, index_t n, B low, index_t slots, const KeyMap<B>& map,
                std::uint32_t* counts) {
  machine::Buffer<std::uint32_t> tables(3 * slots);
  std::fill(tables.begin(), tables.end(), 0u);
  std::fill(counts, counts + slots, 0u);
  std::uint32_t* const table[4] = {counts, tables.data(), tables.data() + slots,
                                   tables.data() + 2 * slots};
  index_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int t = 0; t < 4; ++t) ++table[t][static_cast<B>(map.to_bits(data[i + t]) - low)];
  }
  for (; i < n; ++i) ++counts[static_cast<B>(map.to_bits(data[i]) - low)];
  for (index_t s = 0; s < slots; ++s) counts[s] += table[1][s] + table[2][s] + table[3][s];
}

template <class B>
void count_in_one_pass(const Block<B>& block, B low, index_t slots) {
  const index_t pieces = team();
  machine::Buffer<std::uint32_t> counts(pieces * slots);
  machine::parallel_for(0, pieces, 1, [&](index_t p, index_t) {
    const index_t begin = p * block.n / pieces, end = (p + 1) * block.n / pieces;
    count_keys(block.data + begin, end - begin, low, slots, block.map, counts.data() + p * slots);
  });
  machine::Buffer<index_t> begin(slots + 1);
  begin[0] = 0;
  for (index_t s = 0; s < slots; ++s) {
    begin[s + 1] = begin[s];
    for (index_t p = 0; p < pieces; ++p) begin[s + 1] += counts[p * slots + s];
  }
  machine::parallel_for(0, slots, ceil_div(slots, 4 * pieces), [&](index_t first, index_t last) {
    for (index_t s = first; s < last; ++s) {
      std::fill(block.data + begin[s], block.data + begin[s + 1],
                block.map.to_raw(static_cast<B>(low + static_cast<B>(s))));
    }
  });
}

/// The count of each possible key of a bucket, in 16 bits if the bucket has fewer than most_few
/// keys.
struct Counted {
  std::uint16_t* few = nullptr;  // one counter each
  machine::List<std::uint32_t> many;
};

/// Bucketed counting of the keys of a range, each bucket within a cache. If the counts take less
/// memory than the keys, chunks of keys overwrite memory that their task has already read, and all
/// buckets are counted before any is written; sparse keys go to scratch memory, from which one
/// bucket after the other is counted and written.
template <class B>
class CountByBuckets {
 public:
  CountByBuckets(const Block<B>& block, Bounds<B> bounds) : block_(block), bounds_(bounds) {}

  void sort() {
    const auto range = static_cast<index_t>(bounds_.high - bounds_.low);
    const bool keeps_counts = range <= block_.n;
    plan_.divide_evenly(
        bounds_, std::clamp<index_t>(range / aimed_slots + 1, 4 * team(), most_counted_buckets),
        block_.map);
    distribute(keeps_counts ? block_.data : block_.scratch);
    place_.assign(static_cast<std::size_t>(plan_.buckets()) + 1, 0);
    for (index_t b = 0; b < plan_.buckets(); ++b) {
      index_t n = 0;
      for (const auto& its : streams_) n += its.size(b);
      place_[static_cast<std::size_t>(b) + 1] = place_[static_cast<std::size_t>(b)] + n;
    }
    const index_t grain = std::max<index_t>(1, plan_.buckets() / (16 * team()));
    machine::List<Counted> kept(keeps_counts ? static_cast<std::size_t>(plan_.buckets()) : 0);
    machine::Buffer<std::uint16_t> few(keeps_counts ? range + 1 : 0);
    machine::parallel_for(0, plan_.buckets(), grain, [&](index_t first, index_t last) {
      machine::List<std::uint16_t> few_tables, few_of_one;
      machine::List<std::uint32_t> many_tables;
      Counted one;
      for (index_t b = first; b < last; ++b) {
        if (size(b) == 0) continue;
        Counted& counted = keeps_counts ? kept[static_cast<std::size_t>(b)] : one;
        if (!keeps_counts) few_of_one.resize(static_cast<std::size_t>(slots_of(b)));
        counted.few = keeps_counts
                          ? few.data() + static_cast<index_t>(bounds_of(b).low - bounds_.low)
                          : few_of_one.data();
        count(b, few_tables, many_tables, counted);
        if (!keeps_counts) write(b, counted);
      }
    });
    if (!keeps_counts) return;
    machine::parallel_for(0, plan_.buckets(), grain, [&](index_t first, index_t last) {
      for (index_t b = first; b < last; ++b)
        if (size(b) > 0) write(b, kept[static_cast<std::size_t>(b)]);
    });
  }

 private:
  static constexpr index_t chunk = chunk_bytes / static_cast<index_t>(sizeof(B));
  static constexpr index_t stride = chunk + 64 / static_cast<index_t>(sizeof(B));

  /// Returns half the binary digits of the keys' places: found by the distribution, and by
  /// counting.
  [[nodiscard]] double half_of_digits() const {
    return std::log2(static_cast<double>(block_.n)) / 2;
  }

  void distribute(B* to) {
    const index_t tasks = team() == 1 ? 1 : 2 * team(),
                  length = round_up(ceil_div(block_.n, tasks), chunk);
    streams_ = machine::List<FlushedStreams<B>>(static_cast<std::size_t>(tasks));
    buffers_ = machine::Buffer<B>(tasks * plan_.buckets() * stride);
    machine::parallel_for(0, tasks, 1, [&](index_t t, index_t) {
      const index_t begin = std::min(block_.n, t * length),
                    end = std::min(block_.n, begin + length);
      auto& its = streams_[static_cast<std::size_t>(t)];
      its.start(plan_.buckets(), chunk, stride, buffers_.data() + t * plan_.buckets() * stride,
                to + begin, end - begin);
      stream_all(plan_.division(), block_.data + begin, end - begin, half_of_digits(), its);
    });
  }

  [[nodiscard]] index_t size(index_t b) const {
    return place_[static_cast<std::size_t>(b) + 1] - place_[static_cast<std::size_t>(b)];
  }
  [[nodiscard]] Bounds<B> bounds_of(index_t b) const {
    const Bounds<B> its = plan_.bounds(b);
    return {std::max(its.low, bounds_.low), std::min(its.high, bounds_.high)};
  }

  [[nodiscard]] index_t slots_of(index_t b) const {
    const Bounds<B> its = bounds_of(b);
    return static_cast<index_t>(its.high - its.low) + 1;
  }

  void count(index_t b, machine::List<std::uint16_t>& few_tables,
             machine::List<std::uint32_t>& many_tables, Counted& counted) const {
    machine::List<Piece<B>> pieces;
    for (const auto& stream : streams_) stream.add_pieces(b, pieces);
    const B low = bounds_of(b).low;
    if (size(b) < most_few) {
      count_pieces(pieces, low, slots_of(b), few_tables, counted.few);
    } else {
      counted.many.resize(static_cast<std::size_t>(slots_of(b)));
      count_pieces(pieces, low, slots_of(b), many_tables, counted.many.data());
    }
  }

  void write(index_t b, const Counted& counted) const {
    B* const to = block_.data + place_[static_cast<std::size_t>(b)];
    const B low = bounds_of(b).low;
    if (size(b) < most_few)
      write_counted(to, size(b), low, counted.few, slots_of(b), block_.map);
    else
      write_counted(to, size(b), low, counted.many.data(), slots_of(b), block_.map);
    count_placed(size(b), half_of_digits());
  }

  const Block<B>& block_;
  Bounds<B> bounds_;
  RadixPlan<B> plan_;
  machine::List<FlushedStreams<B>> streams_;  // per task
  machine::Buffer<B> buffers_;                // of the streams
  machine::List<index_t> place_;              // start of each bucket in the result
};

}  // namespace

template <class Item>
void counting_bucketed(const Block<Item>& block) {
  counting_bucketed(block, survey(block));
}
template <class Item>
void counting_bucketed(const Block<Item>& block, const Survey& seen) {
  if (block.n < 2) return;
  if (block.n >> 32 != 0) {  // counters here have 32 bits
    counting(block);
    return;
  }
  if constexpr (std::is_same_v<Item, Pair>) {
    count_pairs(block, seen.min, seen.range());
  } else if (seen.range() < one_pass_range) {
    count_in_one_pass(block, static_cast<Item>(seen.min), static_cast<index_t>(seen.range()) + 1);
  } else {
    const Bounds<Item> bounds{static_cast<Item>(seen.min), static_cast<Item>(seen.max)};
    machine::make_owned<CountByBuckets<Item>>(block, bounds)->sort();
  }
}
TESSERA_SORT_INSTANTIATE(counting);
TESSERA_SORT_INSTANTIATE(counting_bucketed);
template void counting_bucketed(const Block<std::uint32_t>&, const Survey&);
template void counting_bucketed(const Block<std::uint64_t>&, const Survey&);
template void counting_bucketed(const Block<Pair>&, const Survey&);

}  // namespace tessera::inline v1::sort
