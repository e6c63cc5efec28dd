#pragma once
// In-place permutation of chunks of a few hundred bytes or more, along the cycles of the
// permutation. Cycles are cut, so that several threads follow them, each several interleaved (as
// permute.cpp does with rows). A template for plain and traced items.

#include <array>
#include <span>

#include "kernels/sort/common.hpp"
#include "kernels/sort/cycles.hpp"
#include "kernels/sort/leaf.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::sort {

template <class Item>
class ChunkCycles {
 public:
  /// Constructs the permutation; data holds source.size() chunks of `chunk` items, a multiple of 64
  /// bytes each.
  ChunkCycles(Item* data, index_t chunk, std::span<std::uint32_t> source)
      : data_(data),
        chunk_(chunk),
        source_(source),
        leaders_(ceil_div(static_cast<index_t>(source.size()), leader_step)),
        kept_(leaders_ * chunk) {}

  /// Permutes such that chunk s becomes the former chunk source[s]; source, a permutation, is
  /// overwritten.
  void permute() {
    const index_t grain = std::max<index_t>(chains_at_once, leaders_ / (8 * team()));
    machine::parallel_for(0, leaders_, grain, [&](index_t begin, index_t end) {
      for (index_t k = begin; k < end; ++k) copy(at(leader(k)), kept(k));
    });
    machine::parallel_for(0, leaders_, grain,
                          [&](index_t begin, index_t end) { follow(begin, end); });
    const auto slots = static_cast<index_t>(source_.size());
    const auto ahead = [this](index_t slot) { call_ahead(slot); };
    close_cycles(slots, source_.data(), ceil_div(task_grain, chunk_), ahead, [this] {
      return [this, first = machine::Buffer<Item>(chunk_)](index_t slot) mutable {
        close_cycle(slot, first.data());
      };
    });
  }

 private:
  static constexpr index_t chains_at_once = 8;  // per thread
  static constexpr int second_level = 2;        // prefetch target: more lines can be in flight to
                                                // it

  [[nodiscard]] index_t leader(index_t k) const {
    return leader_of(k, static_cast<index_t>(source_.size()));
  }
  [[nodiscard]] Item* at(index_t slot) { return data_ + slot * chunk_; }
  [[nodiscard]] Item* kept(index_t leader) { return kept_.data() + leader * chunk_; }
  void copy(const Item* from, Item* to) {
    copy_(from, to, chunk_ * static_cast<index_t>(sizeof(Item)));
  }
  /// Prefetches a chunk. Inlined, because GCC 12 drops calls of a function that only prefetches.
  [[gnu::always_inline]] void call_ahead(index_t slot) {
    constexpr index_t line = 64 / static_cast<index_t>(sizeof(Item));
    const Item* const first = at(slot);
    for (index_t i = 0; i < chunk_; i += line) __builtin_prefetch(first + i, 0, second_level);
  }

  /// Follows the chains that begin at the leaders [begin, end).
  void follow(index_t begin, index_t end) {
    std::array<index_t, chains_at_once> slot;  // of each chain: the next slot to write
    std::size_t live = 0;
    index_t next = begin;
    for (; live < slot.size() && next < end; ++next) slot[live++] = leader(next);
    while (live > 0) {
      for (std::size_t c = 0; c < live;) {
        const auto to = static_cast<std::size_t>(slot[c]);
        const index_t from = std::exchange(source_[to], static_cast<std::uint32_t>(to));
        if (from != leader(from / leader_step)) {
          copy(at(from), at(slot[c]));
          call_ahead(source_[static_cast<std::size_t>(from)]);
          slot[c++] = from;
        } else {
          copy(kept(from / leader_step), at(slot[c]));
          slot[c] = next < end ? leader(next++) : slot[--live];
        }
      }
    }
  }

  /// Closes the cycle of this slot, which has no leader; its chunk is saved at `saved`.
  void close_cycle(index_t first, Item* saved) {
    copy(at(first), saved);
    index_t slot = first;
    for (index_t from = done(slot); from != first; from = done(slot)) {
      copy(at(from), at(slot));
      slot = from;
    }
    copy(saved, at(slot));
  }
  /// Returns the source of the slot's chunk and marks the slot as done.
  index_t done(index_t slot) {
    const std::atomic_ref its(source_[static_cast<std::size_t>(slot)]);
    const std::uint32_t from = its.load(std::memory_order_relaxed);
    its.store(static_cast<std::uint32_t>(slot), std::memory_order_relaxed);
    return from;
  }

  void (*copy_)(const void*, void*,
                index_t) = leaf_kernels<Like<Item, std::uint64_t>>().copy_past_cache;
  Item* data_;
  index_t chunk_;
  std::span<std::uint32_t> source_;
  index_t leaders_;
  machine::Buffer<Item> kept_;  // the original leaders
};

}  // namespace tessera::inline v1::sort
