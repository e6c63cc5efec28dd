// Counting sort whose counters and output stay in cache. A small range is counted in one pass, per thread. A
// wider one is first distributed to buckets of neighbouring keys; then every bucket is counted and written on
// its own. Keys alone need no placement: runs are filled from the counts.

#include <memory>

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/chunks.hpp"
#include "kernels/sort/counting.hpp"
#include "kernels/sort/counting_pairs.hpp"
#include "kernels/sort/radix_plan.hpp"
#include "kernels/sort/survey.hpp"

namespace tessera::sort {
namespace {

constexpr std::uint64_t one_pass_range = 1 << 13;  // u32 counters: 32 KiB, most of a first-level cache
constexpr index_t most_buckets = 1 << 12;
constexpr index_t aimed_slots = 1 << 15;  // counters of a bucket: 128 KiB, a part of a second-level cache
constexpr index_t chunk_bytes = 1 << 10;

/// to[0 : end - to] = the keys low + s, counts[s] + second[s] times each; padded: four copies of a key are
/// written whatever its count, and those too many are written over.
template <bool padded, class B, class Counter>
void fill_runs(B* to, const B* end, B low, const Counter* counts, const Counter* second, index_t slots,
               const KeyMap<B>& map) {
  constexpr index_t at_once = 16;  // where few of the possible keys occur, most such groups are empty
  constexpr index_t copies = 4;
  for (index_t first = 0; first < slots; first += at_once) {
    const index_t last = std::min(slots, first + at_once);
    Counter any = 0;
    for (index_t s = first; s < last; ++s) any = static_cast<Counter>(any | counts[s] | second[s]);
    if (any == 0) continue;
    for (index_t s = first; s < last; ++s) {
      const index_t count = index_t{counts[s]} + index_t{second[s]};
      const B key = map.to_raw(static_cast<B>(low + static_cast<B>(s)));
      if (!padded || end - to < copies || count > copies)
        std::fill_n(to, count, key);
      else
        std::fill_n(to, copies, key);
      to += count;
    }
  }
}

/// Whether most of the possible keys occur, as far as some of them tell: then it is hard to foretell how
/// often.
template <class Counter>
bool most_occur(const Counter* counts, const Counter* second, index_t slots) {
  const index_t looked_at = std::min<index_t>(slots, 1024);
  index_t occur = 0;
  for (index_t s = 0; s < looked_at; ++s) occur += (counts[s] | second[s]) != 0 ? 1 : 0;
  return 2 * occur > looked_at;
}

/// Counts the keys of the pieces, which are fewer than a Counter holds, and writes them in order.
template <class B, class Counter>
void count_bucket(const std::vector<Piece<B>>& pieces, B* to, index_t n, Bounds<B> bounds,
                  std::vector<Counter>& counts, const KeyMap<B>& map) {
  const B low = bounds.low;
  const auto slots = static_cast<std::size_t>(bounds.high - low) + 1;
  counts.assign(2 * slots, 0);  // by turns, as in count_keys
  Counter *const first = counts.data(), *const second = first + slots;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const Piece<B>& after = pieces[std::min(p + 4, pieces.size() - 1)];
    for (index_t i = 0; i < after.n; i += 64 / index_t{sizeof(B)}) __builtin_prefetch(after.data + i);
    index_t i = 0;
    for (; i + 1 < pieces[p].n; i += 2) {
      ++first[static_cast<B>(pieces[p].data[i] - low)];
      ++second[static_cast<B>(pieces[p].data[i + 1] - low)];
    }
    if (i < pieces[p].n) ++first[static_cast<B>(pieces[p].data[i] - low)];
  }
  const auto all = static_cast<index_t>(slots);
  if (most_occur(first, second, all))
    fill_runs<true>(to, to + n, low, first, second, all, map);
  else
    fill_runs<false>(to, to + n, low, first, second, all, map);
}

/// Four tables in turn: equal neighbours do not wait for each other's increment.
template <class B>
void count_keys(const B* data, index_t n, B low, index_t slots, const KeyMap<B>& map, std::uint32_t* counts) {
  machine::Buffer<std::uint32_t> tables(3 * slots);
  std::fill(tables.begin(), tables.end(), 0u);
  std::fill(counts, counts + slots, 0u);
  std::uint32_t* const table[4] = {counts, tables.data(), tables.data() + slots, tables.data() + 2 * slots};
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

template <class B>
void count_by_buckets(const Block<B>& block, Bounds<B> bounds) {
  const auto range = static_cast<index_t>(bounds.high - bounds.low);
  const auto plan = std::make_unique<RadixPlan<B>>();
  plan->divide_evenly(bounds, std::clamp<index_t>(range / aimed_slots + 1, 4 * team(), most_buckets),
                      block.map);
  const index_t buckets = plan->buckets(), tasks = team() == 1 ? 1 : 2 * team();
  std::vector<FlushedStreams<B>> streams(static_cast<std::size_t>(tasks));
  constexpr index_t chunk = chunk_bytes / static_cast<index_t>(sizeof(B));
  constexpr index_t stride = chunk + 64 / static_cast<index_t>(sizeof(B));
  machine::Buffer<B> buffers(tasks * buckets * stride);
  const index_t length = round_up(ceil_div(block.n, tasks), chunk);
  machine::parallel_for(0, tasks, 1, [&](index_t t, index_t) {
    const index_t begin = std::min(block.n, t * length), end = std::min(block.n, begin + length);
    auto& its = streams[static_cast<std::size_t>(t)];
    its.start(buckets, chunk, stride, buffers.data() + t * buckets * stride, block.scratch + begin,
              end - begin);
    stream_all(plan->division(), block.data + begin, end - begin, its);
  });
  machine::Buffer<index_t> place(buckets + 1);
  place[0] = 0;
  for (index_t b = 0; b < buckets; ++b) {
    place[b + 1] = place[b];
    for (const auto& its : streams) place[b + 1] += its.size(b);
  }
  machine::parallel_for(
      0, buckets, std::max<index_t>(1, buckets / (16 * team())), [&](index_t first, index_t last) {
        std::vector<Piece<B>> pieces;
        std::vector<std::uint16_t> few;
        std::vector<std::uint32_t> many;
        for (index_t b = first; b < last; ++b) {
          const Bounds<B> its = plan->bounds(b);
          const Bounds<B> own{std::max(its.low, bounds.low), std::min(its.high, bounds.high)};
          const index_t n = place[b + 1] - place[b];
          pieces.clear();
          for (const auto& stream : streams) stream.add_pieces(b, pieces);
          if (n < 1 << 16)
            count_bucket(pieces, block.data + place[b], n, own, few, block.map);
          else
            count_bucket(pieces, block.data + place[b], n, own, many, block.map);
        }
      });
}

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
    count_by_buckets(block, Bounds<Item>{static_cast<Item>(seen.min), static_cast<Item>(seen.max)});
  }
}
TESSERA_SORT_INSTANTIATE(counting);
TESSERA_SORT_INSTANTIATE(counting_bucketed);
template void counting_bucketed(const Block<std::uint32_t>&, const Survey&);
template void counting_bucketed(const Block<std::uint64_t>&, const Survey&);
template void counting_bucketed(const Block<Pair>&, const Survey&);

}  // namespace tessera::sort
