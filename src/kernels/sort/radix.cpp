// Radix sort: one distribution by the highest varying bits into buckets that fit the cache, then every
// bucket, as a task, by in-cache passes.

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/distribute.hpp"
#include "kernels/sort/survey.hpp"

namespace tessera::sort {
namespace {

constexpr index_t bucket_bytes = 64 << 10;  // with its twin in scratch inside a second-level cache
constexpr int most_bits = 12;
constexpr index_t small = 64;

/// Stable passes of 8 bits over the bits of `varying` from the lowest; the result lies in data.
template <class Item>
void sort_in_cache(Item* data, Item* scratch, index_t n, KeyBits<Item> varying) {
  Item* from = data;
  Item* to = scratch;
  for (int shift = 0; shift < std::numeric_limits<KeyBits<Item>>::digits; shift += 8) {
    if (((varying >> shift) & 255) == 0) continue;
    index_t place[256] = {};
    for (index_t i = 0; i < n; ++i) ++place[(key_of(from[i]) >> shift) & 255];
    index_t sum = 0;
    for (index_t& p : place) sum += std::exchange(p, sum);
    for (index_t i = 0; i < n; ++i) to[place[(key_of(from[i]) >> shift) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != data) std::copy(from, from + n, data);
}

/// Sorts data[0:n] of mapped bits; the result lies in `home`, which is data or scratch.
template <class Item>
void sort_bits(Item* data, Item* scratch, Item* home, index_t n) {
  using B = KeyBits<Item>;
  if (n <= small) {
    insertion_sort(data, n);
    if (home != data) std::copy(data, data + n, home);
    return;
  }
  const Survey seen = survey(Block<Item>{data, scratch, n, {}});
  if (seen.descents == 0) {
    if (home != data) copy_items(data, home, n);
    return;
  }
  if (n * static_cast<index_t>(sizeof(Item)) <= bucket_bytes) {
    sort_in_cache(data, scratch, n, static_cast<B>(seen.varying));
    if (home != data) std::copy(data, data + n, home);
    return;
  }
  const auto low = static_cast<B>(seen.min);
  const index_t wanted = n * static_cast<index_t>(sizeof(Item)) / bucket_bytes;
  const int bits = std::clamp(bit_length(static_cast<std::uint64_t>(wanted)), 6, most_bits);
  const int shift = std::max(0, bit_length(seen.range()) - bits);
  const index_t buckets = static_cast<index_t>(seen.range() >> shift) + 1;
  machine::Buffer<index_t> begin(buckets + 1);
  distribute(
      data, scratch, n, buckets, begin.data(),
      [=](const Item& item) { return static_cast<index_t>(static_cast<B>(key_of(item) - low) >> shift); },
      [](const Item& item) { return item; });
  machine::parallel_for(
      0, buckets, std::max<index_t>(1, buckets / (32 * team())), [&](index_t first, index_t last) {
        for (index_t b = first; b < last; ++b) {
          sort_bits(scratch + begin[b], data + begin[b], home + begin[b], begin[b + 1] - begin[b]);
        }
      });
}

}  // namespace

template <class Item>
void radix(const Block<Item>& block) {
  on_bits(block, [](Item* data, Item* scratch, index_t n) { sort_bits(data, scratch, data, n); });
}
TESSERA_SORT_INSTANTIATE(radix);

}  // namespace tessera::sort
