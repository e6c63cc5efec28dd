#pragma once
// Distribution of keys into many buckets without a counting pass. Every bucket writes into a chunk
// of memory; full chunks are handled differently: FlushedStreams copies them out and reuses them,
// GrowingStreams allocates new ones.

#include <span>

#include "base/work_done.hpp"
#include "kernels/sort/leaf.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

/// The free part of the current chunk of a stream.
template <class Item>
struct StreamEnd {
  Item* next;
  Item* end;
};
/// Appends items[i] to the stream of bucket[i], in order; calls full(bucket) when its chunk is
/// full.
template <class Item, class Full>
void put_all(StreamEnd<Item>* stream, const Item* items, const std::uint16_t* bucket, index_t n,
             const Full& full) {
  for (index_t i = 0; i < n; ++i) {
    StreamEnd<Item>& s = stream[bucket[i]];
    *s.next++ = items[i];
    if (s.next == s.end) [[unlikely]]
      full(bucket[i]);
  }
}

/// Streams to memory: one buffer per bucket, together within a second-level cache; full ones are
/// copied to the next position of `out` by streaming stores.
template <class Item>
class FlushedStreams {
 public:
  /// Starts the streams. buffer: buckets * stride items; out: space for n items, possibly the
  /// memory from which the items are read.
  void start(index_t buckets, index_t capacity, index_t stride, Item* buffer, Item* out,
             index_t n) {
    capacity_ = capacity;
    out_ = out;
    owner_.resize(static_cast<std::size_t>(n / capacity));
    used_ = 0;
    stream_.resize(static_cast<std::size_t>(buckets));
    for (index_t b = 0; b < buckets; ++b) {
      Item* const first = buffer + b * stride;
      stream_[static_cast<std::size_t>(b)] = {first, first + capacity};
    }
  }

  void put(const Item* items, const std::uint16_t* bucket, index_t n) {
    put_all(stream_.data(), items, bucket, n, [this](std::size_t b) { flush(b); });
  }

  /// Lists the chunks of every bucket; call it after the last item.
  void finish() {
    begin_.assign(stream_.size() + 1, 0);
    for (std::size_t c = 0; c < used_; ++c) ++begin_[owner_[c] + 1u];
    for (std::size_t b = 0; b < stream_.size(); ++b) begin_[b + 1] += begin_[b];
    machine::List<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    chunks_.resize(used_);
    for (std::size_t c = 0; c < used_; ++c)
      chunks_[next[owner_[c]]++] = static_cast<std::uint32_t>(c);
  }

  [[nodiscard]] index_t size(index_t b) const {
    const auto i = static_cast<std::size_t>(b);
    return static_cast<index_t>(begin_[i + 1] - begin_[i]) * capacity_ + in_buffer(i);
  }
  void add_pieces(index_t b, machine::List<Piece<Item>>& pieces) const {
    const auto i = static_cast<std::size_t>(b);
    for (std::uint32_t c = begin_[i]; c < begin_[i + 1]; ++c) {
      pieces.push_back({out_ + static_cast<index_t>(chunks_[c]) * capacity_, capacity_});
    }
    add_buffered(b, pieces);
  }
  void add_buffered(index_t b, machine::List<Piece<Item>>& pieces) const {
    const auto i = static_cast<std::size_t>(b);
    if (in_buffer(i) > 0) pieces.push_back({stream_[i].end - capacity_, in_buffer(i)});
  }
  /// Returns the number of chunks written, and the chunks of bucket b.
  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] std::span<const std::uint32_t> chunks(index_t b) const {
    const auto i = static_cast<std::size_t>(b);
    return {chunks_.data() + begin_[i], begin_[i + 1] - begin_[i]};
  }

 private:
  [[nodiscard]] index_t in_buffer(std::size_t b) const {
    return capacity_ - (stream_[b].end - stream_[b].next);
  }
  [[gnu::noinline]] void flush(std::size_t b) {
    Item* const first = stream_[b].end - capacity_;
    copy_(first, out_ + static_cast<index_t>(used_) * capacity_,
          capacity_ * static_cast<index_t>(sizeof(Item)));
    stream_[b].next = first;
    owner_[used_++] = static_cast<std::uint16_t>(b);
  }

  void (*copy_)(const void*, void*,
                index_t) = leaf_kernels<Like<Item, std::uint64_t>>().copy_past_cache;
  index_t capacity_ = 0;
  Item* out_ = nullptr;
  std::size_t used_ = 0;  // chunks of out
  machine::List<StreamEnd<Item>> stream_;
  machine::List<std::uint16_t> owner_;   // of a chunk: its bucket
  machine::List<std::uint32_t> chunks_;  // those of bucket b: [begin_[b], begin_[b + 1])
  machine::List<std::uint32_t> begin_;
};

/// Streams within a cache: linked chunks of `memory`, of which every bucket initially has one.
template <class Item>
class GrowingStreams {
 public:
  /// Returns the maximum number of chunks for n items in `buckets` buckets.
  [[nodiscard]] static index_t chunks(index_t n, index_t buckets, index_t capacity) {
    return n / capacity + buckets + 1;
  }

  void start(index_t buckets, index_t capacity, index_t stride, Item* memory, index_t most_chunks) {
    memory_ = memory;
    capacity_ = capacity;
    stride_ = stride;
    used_ = buckets;
    if (static_cast<index_t>(link_.size()) < most_chunks)
      link_.resize(static_cast<std::size_t>(most_chunks));
    stream_.resize(static_cast<std::size_t>(buckets));
    chunk_.resize(static_cast<std::size_t>(buckets));
    for (index_t b = 0; b < buckets; ++b) begin_chunk(static_cast<std::size_t>(b), b);
  }

  void put(const Item* items, const std::uint16_t* bucket, index_t n) {
    put_all(stream_.data(), items, bucket, n, [this](std::size_t b) { grow(b); });
  }

  [[nodiscard]] index_t size(index_t b) const {
    index_t full = 0;
    for (auto c = static_cast<std::uint32_t>(b); c != chunk_[static_cast<std::size_t>(b)];
         c = link_[c])
      ++full;
    return full * capacity_ + in_last(b);
  }
  [[nodiscard]] bool is_one_chunk(index_t b) const {
    return chunk_[static_cast<std::size_t>(b)] == static_cast<std::uint32_t>(b);
  }
  [[nodiscard]] Piece<Item> first_piece(index_t b) const {
    return {memory_ + b * stride_, is_one_chunk(b) ? in_last(b) : capacity_};
  }
  void add_pieces(index_t b, machine::List<Piece<Item>>& pieces) const {
    auto c = static_cast<std::uint32_t>(b);
    for (; c != chunk_[static_cast<std::size_t>(b)]; c = link_[c])
      pieces.push_back({memory_ + c * stride_, capacity_});
    if (in_last(b) > 0) pieces.push_back({memory_ + c * stride_, in_last(b)});
  }

 private:
  [[nodiscard]] index_t in_last(index_t b) const {
    const auto& s = stream_[static_cast<std::size_t>(b)];
    return capacity_ - (s.end - s.next);
  }
  void begin_chunk(std::size_t b, index_t c) {
    Item* const first = memory_ + c * stride_;
    stream_[b] = {first, first + capacity_};
    chunk_[b] = static_cast<std::uint32_t>(c);
  }
  [[gnu::noinline]] void grow(std::size_t b) {
    link_[chunk_[b]] = static_cast<std::uint32_t>(used_);
    begin_chunk(b, used_++);
  }

  Item* memory_ = nullptr;
  index_t capacity_ = 0, stride_ = 0, used_ = 0;
  machine::List<StreamEnd<Item>> stream_;
  machine::List<std::uint32_t>
      chunk_;                          // the current chunk of each bucket, initially its own number
  machine::List<std::uint32_t> link_;  // the next chunk of the same bucket, by chunk
};

/// Classifies a batch of items and prefetches the next ones.
template <class Item, class Streams>
void stream_batch(const Division<KeyBits<Item>>& division, const Item* items, index_t n,
                  const Item* ahead, Streams& streams) {
  using B = Like<Item, KeyBits<Item>>;
  const auto& kernels = leaf_kernels<B>();
  B bits[classify_batch];
  std::uint16_t bucket[classify_batch];
  if constexpr (std::is_same_v<Plain<Item>, Pair>) {
    for (index_t i = 0; i < n; i += 4) __builtin_prefetch(ahead + i);
    for (index_t i = 0; i < n; ++i) bits[i] = items[i].key;
    kernels.classify(division, bits, n, bits, bits, bucket);
    streams.put(items, bucket, n);
  } else {
    kernels.classify(division, items, n, ahead, bits, bucket);
    streams.put(bits, bucket, n);
  }
}

/// Distributes items[0:n] to streams by their division; raw keys become bits. digits: the binary
/// digits of their places that this finds, for the progress.
template <class Item>
void stream_all(const Division<KeyBits<Item>>& division, const Item* items, index_t n,
                double digits, FlushedStreams<Item>& streams) {
  for (index_t i = 0; i < n; i += classify_batch) {
    const index_t count = std::min(classify_batch, n - i);
    stream_batch(division, items + i, count, items + std::min(i + classify_batch, n - count),
                 streams);
    const index_t uncounted = (i + count - 1) % counted_keys + 1;
    if (uncounted == counted_keys || i + count == n) count_placed(uncounted, digits);
  }
  streams.finish();
}

/// Distributes the pieces, which hold bits or pairs, to streams.
template <class Item>
void stream_pieces(const Division<KeyBits<Item>>& division,
                   const machine::List<Piece<Item>>& pieces, GrowingStreams<Item>& streams) {
  constexpr std::size_t pieces_ahead = 3;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const Piece<Item> piece = pieces[p];
    const Item* const after = pieces[std::min(p + pieces_ahead, pieces.size() - 1)].data;
    for (index_t i = 0; i < piece.n; i += classify_batch) {
      const index_t count = std::min(classify_batch, piece.n - i);
      const Item* const ahead =
          i + classify_batch < piece.n ? piece.data + i + classify_batch : after;
      stream_batch(division, piece.data + i, count, ahead, streams);
    }
  }
}

}  // namespace tessera::inline v1::sort
