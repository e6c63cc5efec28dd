#pragma once
// The second step of radix on pairs, within a second-level cache.
//
// The keys of a part differ in few bits, so the offset from its least key and the position in the
// part fit one word together. The leaf kernels of keys sort the words, and the pairs are permuted
// accordingly; stable.

#include <algorithm>
#include <numeric>

#include "kernels/sort/cache_sort.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

template <>
class CacheSort<Pair> {
 public:
  CacheSort(index_t most_pairs, Pair* memory)
      : kernels_(leaf_kernels<std::uint64_t>()),
        most_pairs_(most_pairs),
        words_(reinterpret_cast<std::uint64_t*>(memory)),
        work_(words_ + most_pairs),
        memory_(memory + most_pairs),
        gathered_(memory_ + chunks() * stride) {}

  [[nodiscard]] static index_t keys_of_memory(index_t most_pairs) {
    return chunks(most_pairs) * stride + 2 * most_pairs;  // two words have the size of one pair
  }

  /// Sorts to[0:n] = the pairs of the pieces, by key, stably; pieces may overlap it.
  void sort(const machine::List<Piece<Pair>>& pieces, Pair* to, index_t n,
            Bounds<std::uint64_t> bounds, const KeyMap<std::uint64_t>&,
            const KeyMap<std::uint64_t>&) {
    plan_.divide_evenly(bounds, std::clamp<index_t>(n / aim, 1, parts(most_pairs_)), {});
    streams_.start(plan_.buckets(), capacity, stride, memory_, chunks());
    stream_pieces(plan_.division(), pieces, streams_);
    for (index_t part = 0; part < plan_.buckets(); ++part) {
      Bounds<std::uint64_t> own = plan_.bounds(part);
      own = {std::max(own.low, bounds.low), std::min(own.high, bounds.high)};
      to += sort_part(part, to, own);
    }
  }

 private:
  static constexpr index_t capacity = 128;  // the registers' worth of words
  static constexpr index_t aim = 96;
  static constexpr index_t stride = capacity + pad_bytes / index_t{sizeof(Pair)};

  [[nodiscard]] static index_t parts(index_t most_pairs) {
    return std::min<index_t>(most_pairs / aim + 1, most_parts);
  }
  [[nodiscard]] static index_t chunks(index_t most_pairs) {
    return GrowingStreams<Pair>::chunks(most_pairs, parts(most_pairs), capacity);
  }
  [[nodiscard]] index_t chunks() const { return chunks(most_pairs_); }

  index_t sort_part(index_t part, Pair* to, Bounds<std::uint64_t> bounds) {
    if (streams_.is_one_chunk(part)) {
      const Piece<Pair> piece = streams_.first_piece(part);
      sort_together(piece.data, to, piece.n, bounds);
      return piece.n;
    }
    list_.clear();
    streams_.add_pieces(part, list_);
    Pair* const here = bounds.low == bounds.high ? to : gathered_;
    Pair* end = here;
    for (const Piece<Pair>& piece : list_) end = std::copy(piece.data, piece.data + piece.n, end);
    if (here != to) sort_together(here, to, end - here, bounds);
    return end - here;
  }

  /// Sorts from[0:n] into to[0:n]; they do not overlap.
  void sort_together(const Pair* from, Pair* to, index_t n, Bounds<std::uint64_t> bounds) {
    const int place_bits = bit_length(static_cast<std::uint64_t>(n));
    if (bit_length(bounds.high - bounds.low) + place_bits > 64) {
      std::iota(words_, words_ + n, std::uint64_t{0});
      std::sort(words_, words_ + n, [from](std::uint64_t a, std::uint64_t b) {
        return from[a].key != from[b].key ? from[a].key < from[b].key : a < b;
      });
      std::transform(words_, words_ + n, to, [from](std::uint64_t i) { return from[i]; });
      return;
    }
    for (index_t i = 0; i < n; ++i) {
      words_[i] = (from[i].key - bounds.low) << place_bits | static_cast<std::uint64_t>(i);
    }
    const std::uint64_t last =
        (bounds.high - bounds.low) << place_bits | ((std::uint64_t{1} << place_bits) - 1);
    if (n <= kernels_.few) {
      kernels_.sort_few(words_, words_, n, {0, last}, {});
    } else {
      const Piece<std::uint64_t> piece{words_, n};
      kernels_.sort_many({&piece, 1, work_, words_, n, {0, last}, {}});
      std::copy(work_, work_ + n, words_);
    }
    const std::uint64_t mask = (std::uint64_t{1} << place_bits) - 1;
    for (index_t i = 0; i < n; ++i) to[i] = from[words_[i] & mask];
  }

  const LeafKernels<std::uint64_t>& kernels_;
  index_t most_pairs_;
  std::uint64_t* words_;
  std::uint64_t* work_;  // (most_pairs) each
  Pair* memory_;         // (chunks, stride)
  Pair* gathered_;       // (most_pairs)
  RadixPlan<std::uint64_t> plan_;
  GrowingStreams<Pair> streams_;
  machine::List<Piece<Pair>> list_;
};

}  // namespace tessera::inline v1::sort
