#include "kernels/sort/in_parts.hpp"

#include <algorithm>
#include <array>

namespace tessera::sort {
namespace {

constexpr index_t samples = 255;

template <class T>
class Parts {
  using B = Bits<T>;

 public:
  Parts(std::string_view variant, std::span<T> scratch, Order order, const Tuning& tuning)
      : variant_(variant), scratch_(scratch), order_(order), tuning_(tuning), map_(key_map<T>(order)) {}

  void sort(T* keys, index_t n) {
    while (n > static_cast<index_t>(scratch_.size())) {
      const B pivot = median_of_samples(keys, n);
      const index_t below = partition(keys, n, [pivot](B bits) { return bits < pivot; });
      // Many equal keys show as a small lower part: those that equal the pivot stand right already.
      const index_t equal =
          below <= n / 8 ? partition(keys + below, n - below, [pivot](B bits) { return bits == pivot; }) : 0;
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
      sample[static_cast<std::size_t>(i)] = bits(keys[(n / samples) * i + (n % samples) * i / samples]);
    std::nth_element(sample.begin(), sample.begin() + samples / 2, sample.end());
    return sample[samples / 2];
  }

  /// keys[0:result] satisfy `before`, the others do not; without branches on keys.
  template <class Before>
  index_t partition(T* keys, index_t n, const Before& before) const {
    index_t first = 0;
    for (index_t i = 0; i < n; ++i) {
      const T key = keys[i];
      keys[i] = keys[first];
      keys[first] = key;
      first += before(bits(key)) ? 1 : 0;
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

}  // namespace tessera::sort
