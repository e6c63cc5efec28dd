#pragma once
// Streams of items to many buckets without counting first: every bucket writes into a chunk of memory and
// takes another when that is full. The lines being written stay in the first-level cache, full chunks leave
// it whole.

#include <vector>

#include "kernels/sort/leaf.hpp"

namespace tessera::sort {

/// Memory in chunks: the first lie in `main`, the others in `extra`.
template <class Item>
struct ChunkPool {
  Item* main = nullptr;
  index_t main_chunks = 0;
  Item* extra = nullptr;
  index_t capacity = 0;  ///< items of a chunk
  index_t stride = 0;    ///< from chunk to chunk

  [[nodiscard]] Item* chunk(index_t c) const {
    return c < main_chunks ? main + c * stride : extra + (c - main_chunks) * stride;
  }
  /// Chunks that n items in so many buckets may take.
  [[nodiscard]] static index_t needed(index_t n, index_t buckets, index_t capacity) {
    return n / capacity + buckets + 1;
  }
};

template <class Item>
class ChunkStreams {
 public:
  /// Empties all streams; their chunks are free again.
  void start(const ChunkPool<Item>& pool, index_t buckets, index_t most_chunks) {
    pool_ = pool;
    used_ = buckets;
    if (static_cast<index_t>(link_.size()) < most_chunks) link_.resize(static_cast<std::size_t>(most_chunks));
    stream_.resize(static_cast<std::size_t>(buckets));
    chunk_.resize(static_cast<std::size_t>(buckets));
    for (index_t b = 0; b < buckets; ++b) begin_chunk(static_cast<std::size_t>(b), b);
  }

  /// Appends items[i] to the stream of bucket[i], in order.
  void put(const Item* items, const std::uint16_t* bucket, index_t n) {
    Stream* const stream = stream_.data();
    for (index_t i = 0; i < n; ++i) {
      Stream& s = stream[bucket[i]];
      *s.next++ = items[i];
      if (s.next == s.end) grow(bucket[i]);
    }
  }

  [[nodiscard]] index_t size(index_t b) const {
    index_t full = 0;
    for (auto c = static_cast<std::uint32_t>(b); c != chunk_[static_cast<std::size_t>(b)]; c = link_[c])
      ++full;
    return full * pool_.capacity + in_last(b);
  }
  [[nodiscard]] bool is_one_chunk(index_t b) const {
    return chunk_[static_cast<std::size_t>(b)] == static_cast<std::uint32_t>(b);
  }
  [[nodiscard]] Piece<Item> first_piece(index_t b) const {
    return {pool_.chunk(b), is_one_chunk(b) ? in_last(b) : pool_.capacity};
  }
  /// Adds the pieces of a bucket, in the order of its items.
  void add_pieces(index_t b, std::vector<Piece<Item>>& pieces) const {
    auto c = static_cast<std::uint32_t>(b);
    for (; c != chunk_[static_cast<std::size_t>(b)]; c = link_[c])
      pieces.push_back({pool_.chunk(c), pool_.capacity});
    if (in_last(b) > 0) pieces.push_back({pool_.chunk(c), in_last(b)});
  }

 private:
  struct Stream {
    Item* next;
    Item* end;
  };

  [[nodiscard]] index_t in_last(index_t b) const {
    const Stream& s = stream_[static_cast<std::size_t>(b)];
    return pool_.capacity - (s.end - s.next);
  }
  void begin_chunk(std::size_t b, index_t c) {
    Item* const first = pool_.chunk(c);
    stream_[b] = {first, first + pool_.capacity};
    chunk_[b] = static_cast<std::uint32_t>(c);
  }
  [[gnu::noinline]] void grow(std::size_t b) {
    link_[chunk_[b]] = static_cast<std::uint32_t>(used_);
    begin_chunk(b, used_++);
  }

  ChunkPool<Item> pool_;
  index_t used_ = 0;
  std::vector<Stream> stream_;        // of a bucket
  std::vector<std::uint32_t> chunk_;  // of a bucket: the one being written; its first is its own number
  std::vector<std::uint32_t> link_;   // of a chunk: the one that follows it
};

}  // namespace tessera::sort
