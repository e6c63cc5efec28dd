// Counting sort whose counters and output stay in cache: keys are first distributed to buckets of
// neighbouring keys, then every bucket is counted and written on its own. Keys alone need no placement: runs
// are filled from the counts.

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/distribute.hpp"
#include "kernels/sort/survey.hpp"

namespace tessera::sort {
namespace {

constexpr index_t counters_in_cache = 1 << 13;  // u32: 32 KiB, most of a first-level cache
constexpr index_t most_buckets = 1 << 12;  // beyond, the write-combining lines leave the second-level cache

/// to[0:n] = bucket[0:n] sorted; keys lie in [low, low + slots).
template <class Item>
void count_bucket(const Item* bucket, Item* to, index_t n, KeyBits<Item> low, index_t slots,
                  std::uint32_t* count, const KeyMap<KeyBits<Item>>& map) {
  using B = KeyBits<Item>;
  std::fill(count, count + slots, 0u);
  for (index_t i = 0; i < n; ++i) ++count[key_of(bucket[i]) - low];
  if constexpr (std::is_same_v<Item, Pair>) {
    std::uint32_t sum = 0;
    for (index_t s = 0; s < slots; ++s) sum += std::exchange(count[s], sum);
    for (index_t i = 0; i < n; ++i) to[count[bucket[i].key - low]++] = bucket[i];
  } else {
    for (index_t s = 0; s < slots; ++s)
      to = std::fill_n(to, count[s], map.to_raw(static_cast<B>(low + static_cast<B>(s))));
  }
}

}  // namespace

template <class Item>
void counting_bucketed(const Block<Item>& block) {
  using B = KeyBits<Item>;
  if (block.n < 2) return;
  const Survey seen = survey(block);
  const int range_bits = bit_length(seen.range());
  const int bucket_bits = bit_length(static_cast<std::uint64_t>(most_buckets)) - 1;
  const int cache_bits = bit_length(static_cast<std::uint64_t>(counters_in_cache)) - 1;
  const int shift = std::max(range_bits - bucket_bits, std::min(range_bits, cache_bits));
  const index_t buckets = static_cast<index_t>(seen.range() >> shift) + 1;
  const auto low = static_cast<B>(seen.min);
  machine::Buffer<index_t> begin(buckets + 1);
  const auto map = block.map;
  const auto bits = [map](const Item& item) { return map.to_bits(key_of(item)); };
  distribute(
      block.data, block.scratch, block.n, buckets, begin.data(),
      [=](const Item& item) { return static_cast<index_t>(static_cast<B>(bits(item) - low) >> shift); },
      [=](const Item& item) {
        if constexpr (std::is_same_v<Item, Pair>)
          return item;
        else
          return bits(item);
      });
  const index_t slots = index_t{1} << shift;
  machine::parallel_for(
      0, buckets, std::max<index_t>(1, buckets / (16 * team())), [&](index_t first, index_t last) {
        machine::Buffer<std::uint32_t> count(slots);
        for (index_t b = first; b < last; ++b) {
          count_bucket(block.scratch + begin[b], block.data + begin[b], begin[b + 1] - begin[b],
                       static_cast<B>(low + (static_cast<B>(b) << shift)), slots, count.data(), map);
        }
      });
}
TESSERA_SORT_INSTANTIATE(counting_bucketed);

}  // namespace tessera::sort
