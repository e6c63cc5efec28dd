#pragma once
// MSD radix sort for caches: distributes once, then sorts in cache.
//
// Items stream into buckets of about a quarter of a second-level cache, without a counting pass:
// each thread writes chunks (chunks.hpp) over memory it has already read, and the chunks are
// permuted in place to their buckets (permute_chunks.hpp), so no memory is used but the data and
// cache-sized buffers. Then every bucket, as a task, streams likewise into parts of at most a few
// registers of keys, which the leaf kernel of the instruction set sorts and writes into place
// (cache_sort.hpp). Buckets are even slices of the key range or slices of similar weight
// (radix_plan.hpp), so that skewed keys cost little more. Each key is read and written three
// times: distribution, permutation of chunks, sort in cache. A template for plain and traced keys.

#include <optional>

#include "kernels/sort/algorithms.hpp"
#include "kernels/sort/cache_sort.hpp"
#include "kernels/sort/cache_sort_pairs.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/permute_chunks.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

template <class Item>
class Radix {
  using B = KeyBits<Item>;

 public:
  explicit Radix(const Block<Item>& block)
      : data_(block.data), n_(block.n), map_(block.map), done_(block.done) {}

  /// Returns the distribution of the keys among slices of their range, from a sample.
  [[nodiscard]] static Spread spread(const Block<Item>& block) {
    const auto plan = machine::make_owned<RadixPlan<B>>();
    plan->divide_sampled(block.data, block.n, wanted_buckets(block.n), block.map);
    return plan->spread();
  }

  /// Returns an upper bound of the bytes that sort() allocates for n items, on a team, if at most
  /// one bucket is distributed again.
  [[nodiscard]] static index_t workspace_bytes(index_t n, int threads) {
    constexpr index_t other = index_t{256} << 10;  // tables of plans, and headers of the memory
    if (n <= 2 * aim) return sorter_bytes(n) + other;
    const index_t buckets = 2 * wanted_buckets(n) + 2, streams = 2 * index_t{threads};
    const index_t most = heavy * std::max(aim, n / most_buckets), chunks = n / chunk + 1;
    constexpr index_t of_stream = sizeof(StreamEnd<Item>) + 4 * sizeof(std::uint32_t);
    constexpr index_t of_chunk = 8 * sizeof(std::uint32_t) + 2 * sizeof(Piece<Item>);
    const index_t once = buckets * ((streams + 1) * stride * bytes + streams * of_stream + 64) +
                         threads * 2 * sorter_bytes(most) + other;
    return 2 * once + chunks * of_chunk + (chunks / leader_step + 1) * chunk * bytes;
  }

  void sort() {
    if (n_ < 2) return;
    if (n_ <= 2 * aim) {
      sort_alone();
      return;
    }
    plan_.divide_sampled(data_, n_, wanted_buckets(n_), map_);
    allocate();
    distribute();
    place_buckets();
    bring_together();
    sort_buckets();
  }

 private:
  // With its parts within a second-level cache of 1 MiB.
  static constexpr index_t bucket_bytes = index_t{256} << 10;
  // More streams than this miss the first-level cache too often.
  static constexpr index_t most_buckets = index_t{1} << 11;
  static constexpr index_t chunk_bytes =
      index_t{1} << 10;                       // 256 buffers of the first distribution are 256 KiB
  static constexpr index_t few_buckets = 32;  // per task that counts their chunks
  static constexpr index_t heavy = 8;         // times the aim; such buckets are distributed again
  static constexpr index_t bytes = sizeof(Item);
  static constexpr index_t aim = bucket_bytes / bytes;
  static constexpr index_t chunk = chunk_bytes / bytes;
  static constexpr index_t stride = chunk + pad_bytes / bytes;

  struct Worker {
    explicit Worker(index_t most)
        : memory(CacheSort<Item>::keys_of_memory(most)),
          most_items(most),
          cache(most, memory.data()) {}

    machine::Buffer<Item> memory;
    index_t most_items;  // of a bucket
    CacheSort<Item> cache;
    machine::List<Piece<Item>> pieces;
  };

  /// Returns the bytes with which buckets of at most that many items are sorted in the cache.
  [[nodiscard]] static index_t sorter_bytes(index_t most) {
    return CacheSort<Item>::keys_of_memory(most) * bytes + index_t{sizeof(CacheSort<Item>)} +
           most / 4 * bytes;
  }
  [[nodiscard]] static index_t wanted_buckets(index_t n) {
    return std::clamp<index_t>(n / aim, 16, most_buckets);
  }
  [[nodiscard]] index_t size(index_t b) const { return place_[b + 1] - place_[b]; }

  void allocate() {
    streams_ =
        machine::List<FlushedStreams<Item>>(team() == 1 ? 1 : 2 * static_cast<std::size_t>(team()));
    aside_ = static_cast<index_t>(streams_.size()) * plan_.buckets() * stride;
    memory_ = machine::Buffer<Item>(aside_ + plan_.buckets() * stride);
    usual_items_ = 2 * std::max(aim, n_ / most_buckets);
    most_items_ = heavy / 2 * usual_items_;
  }

  /// Returns the items per task, in whole chunks.
  [[nodiscard]] index_t length() const {
    return round_up(ceil_div(n_, static_cast<index_t>(streams_.size())), chunk);
  }

  /// Distributes all items of data to the streams, one set per task. A task has always read at
  /// least as much as it has written, so chunks overwrite what has been read.
  void distribute() {
    machine::parallel_for(0, static_cast<index_t>(streams_.size()), 1, [&](index_t t, index_t) {
      const index_t begin = std::min(n_, t * length()), end = std::min(n_, begin + length());
      auto& streams = streams_[static_cast<std::size_t>(t)];
      streams.start(plan_.buckets(), chunk, stride, memory_.data() + t * plan_.buckets() * stride,
                    data_ + begin, end - begin);
      stream_all(plan_.division(), data_ + begin, end - begin, digits() - digits_in_cache(),
                 streams);
    });
  }

  /// Returns the binary digits of the keys' places, and those that are found in the cache: weights
  /// of the two steps by their times.
  [[nodiscard]] double digits() const { return std::log2(static_cast<double>(n_)); }
  [[nodiscard]] double digits_in_cache() const { return digits() / 2; }

  void place_buckets() {
    place_ = machine::Buffer<index_t>(plan_.buckets() + 1);
    place_[0] = 0;
    machine::parallel_for(0, plan_.buckets(), few_buckets, [&](index_t begin, index_t end) {
      for (index_t b = begin; b < end; ++b) {
        place_[b + 1] = 0;
        for (const auto& streams : streams_) place_[b + 1] += streams.size(b);
      }
    });
    for (index_t b = 0; b < plan_.buckets(); ++b) place_[b + 1] += place_[b];
  }

  /// Slots are chunks of data; these return the slots within bucket b.
  [[nodiscard]] index_t first_slot(index_t b) const { return ceil_div(place_[b], chunk); }
  [[nodiscard]] index_t slots_of(index_t b) const {
    return std::max<index_t>(0, place_[b + 1] / chunk - first_slot(b));
  }
  /// Returns the buffer for one chunk more than a bucket has slots.
  [[nodiscard]] Item* aside(index_t b) { return memory_.data() + aside_ + b * stride; }

  /// Returns the slot of data in which a task has stored one of its chunks.
  [[nodiscard]] std::size_t slot_of(std::size_t task, std::size_t its) const {
    return std::min(static_cast<std::size_t>(n_ / chunk),
                    task * static_cast<std::size_t>(length() / chunk) + its);
  }

  /// Assigns the chunks of a bucket as sources of its slots, as far as these suffice; one surplus
  /// chunk is set aside. Returns the end of those slots.
  std::size_t fill_slots(index_t b, machine::List<std::uint32_t>& source,
                         std::optional<std::uint32_t>& too_many) {
    auto slot = static_cast<std::size_t>(first_slot(b));
    const std::size_t end = slot + static_cast<std::size_t>(slots_of(b));
    for (std::size_t t = 0; t < streams_.size(); ++t) {
      for (const std::uint32_t its : streams_[t].chunks(b)) {
        const auto from = static_cast<std::uint32_t>(slot_of(t, its));
        if (slot < end) {
          source[slot++] = from;
        } else {
          std::copy_n(data_ + from * chunk, chunk, aside(b));
          too_many = from;
        }
      }
    }
    return slot;
  }

  /// Permutes the chunks of every bucket, in the order of their tasks, to its slots.
  void bring_together() {
    machine::List<std::uint32_t> source(static_cast<std::size_t>(n_ / chunk)), unused;
    machine::List<std::size_t> filled(
        static_cast<std::size_t>(plan_.buckets()));  // end of each bucket's filled slots
    machine::List<std::optional<std::uint32_t>> too_many(filled.size());
    machine::parallel_for(0, plan_.buckets(), few_buckets, [&](index_t begin, index_t end) {
      for (index_t b = begin; b < end; ++b) {
        const auto at = static_cast<std::size_t>(b);
        filled[at] = fill_slots(b, source, too_many[at]);
      }
    });
    for (std::size_t t = 0; t < streams_.size(); ++t)
      for (std::size_t s = slot_of(t, streams_[t].used()); s < slot_of(t + 1, 0); ++s)
        unused.push_back(static_cast<std::uint32_t>(s));
    for (const auto& from : too_many)
      if (from) unused.push_back(*from);
    // Slots without a chunk, in buckets and between them, receive the unused chunks.
    std::size_t slot = 0;
    const auto fill_to = [&](std::size_t end) {
      for (; slot < std::min(end, source.size()); ++slot) {
        source[slot] = unused.back();
        unused.pop_back();
      }
    };
    for (index_t b = 0; b < plan_.buckets(); ++b) {
      fill_to(static_cast<std::size_t>(first_slot(b)));
      slot = std::max(slot, filled[static_cast<std::size_t>(b)]);
    }
    fill_to(source.size());
    ChunkCycles<Item>(data_, chunk, source).permute();
  }

  /// Appends the pieces of a bucket in their original order.
  void add_pieces(index_t b, machine::List<Piece<Item>>& pieces) {
    index_t slot = first_slot(b), left = slots_of(b);
    for (const auto& streams : streams_) {
      const auto chunks = static_cast<index_t>(streams.chunks(b).size());
      const index_t here = std::min(chunks, left);
      if (here > 0) pieces.push_back({data_ + slot * chunk, here * chunk});
      if (here < chunks) pieces.push_back({aside(b), chunk});
      streams.add_buffered(b, pieces);
      slot += here;
      left -= here;
    }
  }

  void sort_buckets() {
    machine::List<machine::Owned<Worker>> workers(static_cast<std::size_t>(team()));
    machine::parallel_for(0, plan_.buckets(), 1, [&](index_t b, index_t) {
      if (size(b) == 0) return;
      auto& worker = workers[static_cast<std::size_t>(omp_get_thread_num())];
      const index_t wanted = std::clamp(size(b), usual_items_, most_items_);
      if (!worker || worker->most_items < wanted)
        worker = machine::make_owned<Worker>(wanted == usual_items_ ? usual_items_ : most_items_);
      worker->pieces.clear();
      add_pieces(b, worker->pieces);
      if (size(b) > most_items_)
        close_up(b, worker->pieces);
      else
        sort_bucket(b, *worker);
    });
    for (index_t b = 0; b < plan_.buckets(); ++b) {
      if (size(b) > most_items_) sort_heavy(b);
    }
  }

  void sort_bucket(index_t b, Worker& worker) {
    const Bounds<B> bounds = bounds_of(b, worker.pieces);
    if (bounds.low == bounds.high)
      close_up(b, worker.pieces);
    else
      worker.cache.sort(worker.pieces, data_ + place_[b], size(b), bounds, {}, map_);
    count_placed(size(b), digits_in_cache());
    if (done_ != nullptr) (*done_)(data_ + place_[b], size(b));
  }

  [[nodiscard]] Bounds<B> bounds_of(index_t b, const machine::List<Piece<Item>>& pieces) const {
    if (b > 0 && b + 1 < plan_.buckets()) return plan_.bounds(b);
    Bounds<B> seen;  // bounds of open buckets: the keys present
    for (const auto& piece : pieces) {
      const Survey its = survey_of(piece.data, piece.n, {});
      seen = {std::min(seen.low, static_cast<B>(its.min)),
              std::max(seen.high, static_cast<B>(its.max))};
    }
    return seen;
  }

  static Survey survey_of(const Item* items, index_t n, const KeyMap<B>& map) {
    return survey(Block<Item>{const_cast<Item*>(items), nullptr, n, map});
  }

  /// Closes the gaps between the pieces of a bucket, which keeps its order. Chunks within its range
  /// move by a part of it: forward moves from the first, backward moves from the last; then there
  /// is space for the chunks stored elsewhere.
  void close_up(index_t b, const machine::List<Piece<Item>>& pieces) {
    const Item *const slots = data_ + first_slot(b) * chunk, *const slots_end =
                                                                 slots + slots_of(b) * chunk;
    const auto is_there = [&](const Item* items) { return slots <= items && items < slots_end; };
    Item* to = data_ + place_[b];
    for (const auto& [items, n] : pieces) {
      if (is_there(items) && to < items) std::copy(items, items + n, to);
      to += n;
    }
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      const auto& [items, n] = *piece;
      if (is_there(items) && to - n > items) std::copy_backward(items, items + n, to);
      to -= n;
    }
    for (const auto& [items, n] : pieces) {
      if (!is_there(items)) std::copy(items, items + n, to);
      to += n;
    }
    if constexpr (!std::is_same_v<Plain<Item>, Pair>)
      std::transform(to - size(b), to, to - size(b),
                     [map = map_](B bits) { return map.to_raw(bits); });
  }

  void sort_heavy(index_t b) {
    const Block<Item> block{data_ + place_[b], nullptr, size(b), map_, 0, done_};
    if (survey(block).descents == 0) return;
    Radix part(block);
    if (size(b) < n_ - n_ / 4)
      part.sort();
    else
      part.sort_alone();  // the sample missed the differing bits: few keys differ
  }

  /// Sorts without a first distribution.
  void sort_alone() {
    const Survey seen = survey_of(data_, n_, map_);
    if (seen.descents == 0) return;
    machine::Buffer<Item> memory(CacheSort<Item>::keys_of_memory(n_));
    const auto cache = machine::make_owned<CacheSort<Item>>(n_, memory.data());
    cache->sort({{data_, n_}}, data_, n_, {static_cast<B>(seen.min), static_cast<B>(seen.max)},
                map_, map_);
  }

  Item* data_;
  index_t n_;
  KeyMap<B> map_;
  const Done* done_;
  RadixPlan<B> plan_;
  machine::List<FlushedStreams<Item>> streams_;  // per task
  machine::Buffer<Item> memory_;                 // buffers of the streams, chunks set aside
  index_t usual_items_ = 0, most_items_ = 0;     // of a bucket
  index_t aside_ = 0;                            // offset in memory of the chunks set aside
  machine::Buffer<index_t> place_;               // start of each bucket in data
};

template <class Item>
void radix(const Block<Item>& block) {
  Radix<Item>(block).sort();
}

}  // namespace tessera::inline v1::sort
