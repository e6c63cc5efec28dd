#pragma once
// The distribution step of radix, samplesort and counting_bucketed: histogram, exclusive scan,
// stable scatter to buckets.

#include "kernels/sort/common.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::sort {

/// Groups to[0:n] = from[0:n] by bucket_of(item) in [0, buckets), stably; begin[0:buckets+1] are
/// the groups' starts. `as` is applied to every item. Chunks are counted and written in parallel.
template <class Item, class BucketOf, class As>
void distribute(const Item* from, Item* to, index_t n, index_t buckets, Like<Item, index_t>* begin,
                const BucketOf& bucket_of, const As& as) {
  const index_t chunks = team() == 1 ? 1 : std::clamp<index_t>(n / (8 * buckets), 1, 4 * team());
  const index_t chunk = ceil_div(std::max<index_t>(n, 1), chunks);
  machine::Buffer<Like<Item, index_t>> place(chunks * buckets);
  machine::parallel_for(0, chunks, 1, [&](index_t c, index_t) {
    auto* const count = place.data() + c * buckets;
    std::fill(count, count + buckets, index_t{0});
    for (index_t i = c * chunk; i < std::min(n, (c + 1) * chunk); ++i) ++count[bucket_of(from[i])];
  });
  index_t sum = 0;
  for (index_t b = 0; b < buckets; ++b) {
    begin[b] = sum;
    for (index_t c = 0; c < chunks; ++c) sum += std::exchange(place[c * buckets + b], sum);
  }
  begin[buckets] = sum;
  machine::parallel_for(0, chunks, 1, [&](index_t c, index_t) {
    auto* const next = place.data() + c * buckets;
    for (index_t i = c * chunk; i < std::min(n, (c + 1) * chunk); ++i)
      to[next[bucket_of(from[i])]++] = as(from[i]);
  });
}

}  // namespace tessera::inline v1::sort
