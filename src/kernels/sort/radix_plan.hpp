#pragma once
// How radix divides keys among buckets: evenly over the range where the keys are spread so, by the weight of
// slices in a sample where they are not.

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "kernels/sort/leaf.hpp"

namespace tessera::sort {

template <class B>
class RadixPlan {
 public:
  RadixPlan() = default;
  RadixPlan(const RadixPlan&) = delete;
  RadixPlan& operator=(const RadixPlan&) = delete;

  /// Even buckets over the bounds, at most `wanted`.
  void divide_evenly(Bounds<B> bounds, index_t wanted, const KeyMap<B>& map) {
    const B range = static_cast<B>(bounds.high - bounds.low);
    const int length = std::max(1, bit_length(range));
    division_ = {
        bounds.low, std::max(0, length - place_bits), std::max(0, place_bits - length), 0, 0, nullptr, map};
    const std::uint64_t places = ((std::uint64_t{range} >> division_.right) + 1) << division_.left;
    division_.last = static_cast<std::uint32_t>(places - 1);
    buckets_ = static_cast<index_t>(
        std::min<std::uint64_t>(static_cast<std::uint64_t>(wanted), std::uint64_t{range} + 1));
    buckets_ = std::max<index_t>(buckets_, 1);
    // (last >> 12) * factor >> 16 < buckets
    division_.factor =
        static_cast<std::uint32_t>((static_cast<std::uint64_t>(buckets_) << 16) / ((places + 0xfff) >> 12));
  }

  /// About `wanted` buckets of like weight for raw keys (or pairs) data[0:n], n > 0, from a sample.
  template <class Item>
  void divide_sampled(const Item* data, index_t n, index_t wanted, const KeyMap<B>& map) {
    const index_t samples = std::clamp<index_t>(n / 512, 256, most_samples);
    Bounds<B> bounds;
    for (index_t s = 0; s < samples; ++s) {
      const auto jitter = static_cast<index_t>(mix64(static_cast<std::uint64_t>(s)) %
                                               static_cast<std::uint64_t>(n / samples + 1));
      const B bits = map.to_bits(key_of(data[std::min(n - 1, s * (n / samples) + jitter)]));
      sample_[static_cast<std::size_t>(s)] = bits;
      bounds = {std::min(bounds.low, bits), std::max(bounds.high, bits)};
    }
    divide_evenly(bounds, wanted, map);
    std::array<index_t, slices> weight{};
    for (index_t s = 0; s < samples; ++s) ++weight[place(sample_[static_cast<std::size_t>(s)]) >> 16];
    if (!is_even(weight, samples)) divide_by_weight(weight, samples, wanted);
  }

  [[nodiscard]] const Division<B>& division() const { return division_; }
  [[nodiscard]] index_t buckets() const { return buckets_; }

  /// All keys of bucket b lie in these bounds; the outermost are open.
  [[nodiscard]] Bounds<B> bounds(index_t b) const {
    constexpr B all = static_cast<B>(~B{0});
    return {b == 0 ? B{0} : static_cast<B>(first_bits(b)),
            b + 1 == buckets_ ? all : static_cast<B>(first_bits(b + 1) - 1)};
  }

 private:
  static constexpr int place_bits = 28;
  static constexpr std::size_t slices = 1 << 12;
  static constexpr index_t most_samples = 8192;

  [[nodiscard]] std::uint64_t place(B bits) const {
    const std::uint64_t above = std::max(bits, division_.low) - division_.low;
    return std::min<std::uint64_t>((above >> division_.right) << division_.left, division_.last);
  }

  /// The least bits that belong to bucket b > 0 or a later one; the greatest of all if none can.
  [[nodiscard]] B first_bits(index_t b) const {
    constexpr std::uint64_t all = static_cast<B>(~B{0});
    const std::uint64_t first = first_place(static_cast<std::uint64_t>(b));
    const std::uint64_t steps = (first + (std::uint64_t{1} << division_.left) - 1) >> division_.left;
    if (first > division_.last || steps > (all - division_.low) >> division_.right)
      return static_cast<B>(all);
    return static_cast<B>(division_.low + (steps << division_.right));
  }

  [[nodiscard]] std::uint64_t first_place(std::uint64_t b) const {
    if (division_.table == nullptr) return ((b << 16) + division_.factor - 1) / division_.factor << 12;
    const auto at =
        std::lower_bound(table_.begin(), table_.end(), b,
                         [](std::uint32_t entry, std::uint64_t value) { return (entry >> 16) < value; });
    const auto slice = static_cast<std::uint64_t>(at - table_.begin());
    if (at != table_.end() && *at >> 16 == b) return slice << 16;
    const std::uint64_t base = table_[slice - 1] >> 16, width = table_[slice - 1] & 0xffff;
    return ((slice - 1) << 16) + (((b - base) << 16) + width - 1) / width;
  }

  /// No bucket has much more than its share of the sample.
  [[nodiscard]] bool is_even(const std::array<index_t, slices>& weight, index_t samples) const {
    index_t share = 0, bucket = 0;
    const index_t most = 2 * ceil_div(samples, buckets_) + 8;
    for (std::size_t slice = 0; slice < slices; ++slice) {
      const auto its = static_cast<index_t>(((slice << 4) * division_.factor) >> 16);
      share = its == bucket ? share + weight[slice] : weight[slice];
      bucket = its;
      if (share > most) return false;
    }
    return true;
  }

  /// Light slices share buckets, heavy ones have several, as if keys were even inside a slice.
  void divide_by_weight(const std::array<index_t, slices>& weight, index_t samples, index_t wanted) {
    const index_t aim = std::max<index_t>(1, samples / wanted);
    index_t base = 0, filled = 0;
    for (std::size_t slice = 0; slice < slices; ++slice) {
      const index_t width = (weight[slice] + aim / 2) / aim;
      if (filled > 0 && (width > 1 || filled + weight[slice] > aim + aim / 2)) {
        ++base;
        filled = 0;
      }
      table_[slice] = static_cast<std::uint32_t>(base << 16 | std::max<index_t>(width, 1));
      filled += weight[slice];
      if (width > 1) {
        base += width;
        filled = 0;
      }
    }
    buckets_ = base + 1;
    division_.table = table_.data();
  }

  Division<B> division_;
  index_t buckets_ = 0;
  std::array<std::uint32_t, slices> table_;
  std::array<B, most_samples> sample_;
};

}  // namespace tessera::sort
