#pragma once
// Chunks of some hundred bytes or more brought in another order where they lie, along the cycles of that
// order. These are cut, so that several threads follow them, and each of them several by turns (as
// permute.cpp does with rows). A template, so that it runs on plain and on traced items.

#include <array>
#include <span>

#include "kernels/sort/common.hpp"
#include "kernels/sort/leaf.hpp"
#include "machine/buffer.hpp"

namespace tessera::sort {

template <class Item>
class ChunkCycles {
 public:
  /// data holds source.size() chunks of so many items, a multiple of 64 bytes each.
  ChunkCycles(Item* data, index_t chunk, std::span<std::uint32_t> source)
      : data_(data),
        chunk_(chunk),
        source_(source),
        leaders_(ceil_div(static_cast<index_t>(source.size()), leader_step)),
        kept_((leaders_ + 1) * chunk) {}

  /// Chunk s becomes what was chunk source[s]; source, a permutation, is overwritten.
  void permute() {
    const index_t grain = std::max<index_t>(chains_at_once, leaders_ / (8 * team()));
    machine::parallel_for(0, leaders_, grain, [&](index_t begin, index_t end) {
      for (index_t k = begin; k < end; ++k) copy(at(k * leader_step), kept(k));
    });
    machine::parallel_for(0, leaders_, grain, [&](index_t begin, index_t end) { follow(begin, end); });
    for (std::uint32_t s = 0; s < source_.size(); ++s)
      if (source_[s] != s) close_cycle(s);
  }

 private:
  static constexpr index_t leader_step = 256;   // chunks with one that is copied away
  static constexpr index_t chains_at_once = 8;  // of a thread
  static constexpr int second_level = 2;        // of caches: more lines can be on their way to it

  [[nodiscard]] Item* at(index_t slot) { return data_ + slot * chunk_; }
  [[nodiscard]] Item* kept(index_t leader) { return kept_.data() + leader * chunk_; }
  void copy(const Item* from, Item* to) { copy_(from, to, chunk_ * static_cast<index_t>(sizeof(Item))); }
  /// Inlined: a function that does nothing but this has no effect for GCC 12, which drops its calls.
  [[gnu::always_inline]] void call_ahead(index_t slot) {
    constexpr index_t line = 64 / static_cast<index_t>(sizeof(Item));
    const Item* const first = at(slot);
    for (index_t i = 0; i < chunk_; i += line) __builtin_prefetch(first + i, 0, second_level);
  }

  /// The chains that begin at the leaders [begin, end).
  void follow(index_t begin, index_t end) {
    std::array<index_t, chains_at_once> slot;  // of a chain: the one that is written next
    std::size_t live = 0;
    index_t next = begin;
    for (; live < slot.size() && next < end; ++next) slot[live++] = next * leader_step;
    while (live > 0) {
      for (std::size_t c = 0; c < live;) {
        const auto to = static_cast<std::size_t>(slot[c]);
        const std::uint32_t from = std::exchange(source_[to], static_cast<std::uint32_t>(to));
        if (from % leader_step != 0) {
          copy(at(from), at(slot[c]));
          call_ahead(source_[from]);
          slot[c++] = from;
        } else {
          copy(kept(from / leader_step), at(slot[c]));
          slot[c] = next < end ? leader_step * next++ : slot[--live];
        }
      }
    }
  }

  /// A cycle that no leader lies on: there are few, mostly.
  void close_cycle(std::uint32_t first) {
    copy(at(first), kept(leaders_));
    std::uint32_t slot = first;
    for (std::uint32_t from = source_[slot]; from != first; from = source_[slot]) {
      copy(at(from), at(slot));
      source_[slot] = slot;
      slot = from;
    }
    copy(kept(leaders_), at(slot));
    source_[slot] = slot;
  }

  void (*copy_)(const void*, void*, index_t) = leaf_kernels<Like<Item, std::uint64_t>>().copy_past_cache;
  Item* data_;
  index_t chunk_;
  std::span<std::uint32_t> source_;
  index_t leaders_;
  machine::Buffer<Item> kept_;  // the leaders as they were, and room for one more
};

}  // namespace tessera::sort
