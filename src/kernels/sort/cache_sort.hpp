#pragma once
// The second step of radix on keys: sorts one bucket from its pieces into place, within a
// second-level cache.

#include <algorithm>

#include "kernels/sort/chunks.hpp"
#include "kernels/sort/radix_plan.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

inline constexpr index_t pad_bytes = 64;  // separates adjacent chunks by cache sets
inline constexpr index_t most_parts =
    1 << 13;  // per bucket; only buckets of very many equal keys would have more

/// A sorter of buckets; one object per thread.
template <class B>
class CacheSort {
  using Bits = Plain<B>;

 public:
  /// Constructs a sorter for buckets of at most most_keys keys, which uses memory[0 :
  /// keys_of_memory(most_keys)].
  CacheSort(index_t most_keys, B* memory)
      : kernels_(leaf_kernels<B>()),
        most_keys_(most_keys),
        memory_(memory),
        work_(memory + chunks() * stride()) {}

  [[nodiscard]] static index_t keys_of_memory(index_t most_keys) {
    const CacheSort sizes(most_keys, nullptr);
    return sizes.chunks() * sizes.stride() + most_keys;
  }

  /// Sorts to[0:n] = the keys of the pieces; pieces may overlap it.
  void sort(const machine::List<Piece<B>>& pieces, B* to, index_t n, Bounds<Bits> bounds,
            const KeyMap<Bits>& map, const KeyMap<Bits>& back) {
    plan_.divide_evenly(bounds, std::clamp<index_t>(n / aim(), 1, parts()), map);
    if (n > kernels_.few && map.identity() && is_uneven(pieces)) {
      B* end = memory_;
      for (const auto& piece : pieces) end = std::copy(piece.data, piece.data + piece.n, end);
      const Piece<B> all{memory_, n};
      kernels_.sort_many({&all, 1, to, work_, n, bounds, back});
      return;
    }
    streams_.start(plan_.buckets(), kernels_.few, stride(), memory_, chunks());
    stream_pieces(plan_.division(), pieces, streams_);
    for (index_t part = 0; part < plan_.buckets(); ++part) to += sort_part(part, to, bounds, back);
  }

 private:
  static constexpr index_t samples = 64;

  /// Returns the average number of keys per part, such that a part of evenly distributed keys
  /// hardly ever exceeds `few`.
  [[nodiscard]] index_t aim() const { return kernels_.few - kernels_.few / 4; }
  [[nodiscard]] index_t stride() const {
    return kernels_.few + pad_bytes / static_cast<index_t>(sizeof(B));
  }
  [[nodiscard]] index_t parts() const {
    return std::min<index_t>(most_keys_ / aim() + 1, most_parts);
  }
  [[nodiscard]] index_t chunks() const {
    return GrowingStreams<B>::chunks(most_keys_, parts(), kernels_.few);
  }

  /// Returns whether a sample is distributed such that even parts would have very different sizes.
  [[nodiscard]] bool is_uneven(const machine::List<Piece<B>>& pieces) {
    constexpr index_t slots = 8;
    index_t count[slots] = {};
    for (index_t s = 0; s < samples; ++s) {
      const auto& piece = pieces[static_cast<std::size_t>(s) * pieces.size() / samples];
      bits_[s] = piece.data[static_cast<index_t>(mix64(static_cast<std::uint64_t>(s)) %
                                                 static_cast<std::uint64_t>(piece.n))];
    }
    kernels_.classify(plan_.division(), bits_, samples, bits_, bits_, bucket_);
    for (index_t s = 0; s < samples; ++s) ++count[bucket_[s] * slots / plan_.buckets()];
    return plan_.buckets() >= slots && *std::max_element(count, count + slots) > samples / 2;
  }

  index_t sort_part(index_t part, B* to, Bounds<Bits> bounds, const KeyMap<Bits>& back) {
    const Piece<B> piece = streams_.first_piece(part);
    if (streams_.is_one_chunk(part)) {
      kernels_.sort_few(piece.data, to, piece.n, bounds, back);
      return piece.n;
    }
    const index_t n = streams_.size(part);
    Bounds<Bits> own = plan_.bounds(part);
    own = {std::max(own.low, bounds.low), std::min(own.high, bounds.high)};
    if (own.low == own.high) {
      std::fill_n(to, n, back.to_raw(own.low));
      return n;
    }
    list_.clear();
    streams_.add_pieces(part, list_);
    kernels_.sort_many({list_.data(), static_cast<index_t>(list_.size()), to, work_, n, own, back});
    return n;
  }

  const LeafKernels<B>& kernels_;
  index_t most_keys_;
  B* memory_;  // (chunks, stride)
  B* work_;    // (most_keys)
  RadixPlan<Bits> plan_;
  GrowingStreams<B> streams_;
  machine::List<Piece<B>> list_;
  B bits_[samples];
  std::uint16_t bucket_[samples];
};

}  // namespace tessera::inline v1::sort
