// Quicksort partitions by sampled pivots down to parts that fit the scratch memory.

#include "kernels/sort/in_parts.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/work_done.hpp"
#include "kernels/sort/common.hpp"
#include "kernels/sort/variants.hpp"

namespace tessera::inline v1::sort {
namespace {

constexpr index_t samples = 255;

template <class T>
class Parts {
  using B = Bits<T>;

 public:
  Parts(std::string_view variant, std::span<T> scratch, Order order, const Tuning& tuning)
      : variant_(variant),
        scratch_(scratch),
        order_(order),
        tuning_(tuning),
        map_(key_map<T>(order)) {}

  void sort(T* keys, index_t n) {
    if (variant_ == "auto" && n > static_cast<index_t>(scratch_.size()) &&
        automatic_in_place(Block<B>{reinterpret_cast<B*>(keys), nullptr, n, map_}))
      return;
    while (n > static_cast<index_t>(scratch_.size())) {
      const B pivot = median_of_samples(keys, n);
      const index_t below = partition(keys, n, [pivot](B bits) { return bits < pivot; });
      count_level(n, 2);
      // A small lower part indicates many equal keys: those equal to the pivot are then in place.
      const index_t equal = below <= n / 8 ? partition(keys + below, n - below,
                                                       [pivot](B bits) { return bits == pivot; })
                                           : 0;
      sort(keys, below);
      keys += below + equal;
      n -= below + equal;
    }
    const auto size = static_cast<std::size_t>(n);
    sort_keys(variant_, std::span<T>(keys, size), scratch_.first(size), order_, tuning_);
  }

 private:
  [[nodiscard]] B bits(T key) const { return map_.to_bits(std::bit_cast<B>(key)); }

  B median_of_samples(const T* keys, index_t n) const {
    std::array<B, samples> sample;
    for (index_t i = 0; i < samples; ++i)
      sample[static_cast<std::size_t>(i)] =
          bits(keys[(n / samples) * i + (n % samples) * i / samples]);
    std::nth_element(sample.begin(), sample.begin() + samples / 2, sample.end());
    return sample[samples / 2];
  }

  /// Partitions keys such that keys[0:result] satisfy `before` and the others do not. Several
  /// threads partition a chunk each; then items on the wrong side of the border are swapped.
  template <class Before>
  index_t partition(T* keys, index_t n, const Before& before) const {
    const index_t chunks = team() == 1 ? 1 : std::min<index_t>(4 * team(), n / task_grain);
    if (chunks < 2) return partition_alone(keys, n, before, map_);
    const Chunks chunk{n, chunks};
    std::vector<index_t> middles(static_cast<std::size_t>(chunks));
    machine::parallel_for(0, chunks, 1, [&](index_t c, index_t) {
      const index_t begin = chunk.begin(c);
      middles[static_cast<std::size_t>(c)] =
          begin + partition_alone(keys + begin, chunk.begin(c + 1) - begin, before, map_);
    });
    index_t border = 0;
    for (index_t c = 0; c < chunks; ++c)
      border += middles[static_cast<std::size_t>(c)] - chunk.begin(c);
    std::vector<Stretch> late, early;  // misplaced before and after the border
    for (index_t c = 0; c < chunks; ++c) {
      const index_t middle = middles[static_cast<std::size_t>(c)];
      late.push_back({std::min(middle, border), std::min(chunk.begin(c + 1), border)});
      early.push_back({std::max(chunk.begin(c), border), std::max(middle, border)});
    }
    swap_all(keys, late, early);
    return border;
  }

  struct Chunks {
    index_t n, chunks;
    [[nodiscard]] index_t begin(index_t c) const {
      return n / chunks * c + std::min(c, n % chunks);
    }
  };
  struct Stretch {
    index_t begin, end;
  };

  /// Swaps the stretches of a with those of b, which have the same total length.
  static void swap_all(T* keys, const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
    struct Swap {
      index_t from, to, n;
    };
    std::vector<Swap> swaps;
    std::size_t other = 0;
    index_t at = b.front().begin;
    for (Stretch one : a) {
      while (one.begin < one.end) {
        while (at == b[other].end) at = b[++other].begin;
        const index_t n = std::min(one.end - one.begin, b[other].end - at);
        swaps.push_back({one.begin, at, n});
        one.begin += n;
        at += n;
      }
    }
    machine::parallel_for(0, static_cast<index_t>(swaps.size()), 1, [&](index_t s, index_t) {
      const Swap& swap = swaps[static_cast<std::size_t>(s)];
      std::swap_ranges(keys + swap.from, keys + swap.from + swap.n, keys + swap.to);
    });
  }

  /// Partitions on one thread, without branches on keys.
  template <class Before>
  static index_t partition_alone(T* keys, index_t n, const Before& before, const KeyMap<B>& map) {
    index_t first = 0;
    for (index_t i = 0; i < n; ++i) {
      const T key = keys[i];
      keys[i] = keys[first];
      keys[first] = key;
      first += before(map.to_bits(std::bit_cast<B>(key))) ? 1 : 0;
    }
    return first;
  }

  std::string_view variant_;
  std::span<T> scratch_;
  Order order_;
  const Tuning& tuning_;
  KeyMap<B> map_;
};

}  // namespace

template <class T>
void sort_in_parts(std::string_view variant, std::span<T> keys, std::span<T> scratch, Order order,
                   const Tuning& tuning) {
  TESSERA_EXPECTS(keys.empty() || !scratch.empty());
  Parts<T>(variant, scratch, order, tuning).sort(keys.data(), static_cast<index_t>(keys.size()));
}

#define TESSERA_SORT_INSTANTIATE_IN_PARTS(T) \
  template void sort_in_parts(std::string_view, std::span<T>, std::span<T>, Order, const Tuning&)
TESSERA_SORT_INSTANTIATE_IN_PARTS(std::int32_t);
TESSERA_SORT_INSTANTIATE_IN_PARTS(std::int64_t);
TESSERA_SORT_INSTANTIATE_IN_PARTS(std::uint32_t);
TESSERA_SORT_INSTANTIATE_IN_PARTS(std::uint64_t);
TESSERA_SORT_INSTANTIATE_IN_PARTS(float);
TESSERA_SORT_INSTANTIATE_IN_PARTS(double);

}  // namespace tessera::inline v1::sort
