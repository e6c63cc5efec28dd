#pragma once
// The division of keys among radix buckets: evenly over the range if the keys are evenly
// distributed, otherwise by the weight of slices in a sample; slices are even or, if one of them
// would have very many keys, logarithmic. Doubles that are evenly distributed as numbers are
// divided as numbers.

#include <algorithm>
#include <array>
#include <cmath>

#include "base/hash.hpp"
#include "kernels/sort/leaf.hpp"
#include "machine/list.hpp"

namespace tessera::inline v1::sort {

/// The distribution of a sample: even over the range; about even within each slice, whatever its
/// weight; neither.
enum class Spread { even, even_in_slices, uneven };

template <class B>
class RadixPlan {
 public:
  RadixPlan() = default;
  RadixPlan(const RadixPlan&) = delete;
  RadixPlan& operator=(const RadixPlan&) = delete;

  /// Divides the bounds into even buckets, at most `wanted`.
  void divide_evenly(Bounds<B> bounds, index_t wanted, const KeyMap<B>& map) {
    const B range = static_cast<B>(bounds.high - bounds.low);
    const int length = std::max(1, bit_length(range));
    division_ = {.low = bounds.low,
                 .range = range,
                 .right = std::max(0, length - place_bits),
                 .left = std::max(0, place_bits - length),
                 .map = map};
    const std::uint64_t places = ((std::uint64_t{range} >> division_.right) + 1) << division_.left;
    buckets_ = static_cast<index_t>(
        std::min<std::uint64_t>(static_cast<std::uint64_t>(wanted), std::uint64_t{range} + 1));
    buckets_ = std::max<index_t>(buckets_, 1);
    // (greatest place >> 12) * factor >> 16 < buckets
    division_.factor = static_cast<std::uint32_t>((static_cast<std::uint64_t>(buckets_) << 16) /
                                                  ((places + 0xfff) >> 12));
  }

  /// Divides raw keys (or pairs) data[0:n], n > 0, into about `wanted` buckets of similar weight,
  /// at most 2 wanted + 2, from a sample.
  template <class Item>
  void divide_sampled(const Item* data, index_t n, index_t wanted, const KeyMap<B>& map) {
    const index_t samples = std::clamp<index_t>(n / 512, 256, most_samples);
    divide_by_sample(
        samples,
        [&](index_t s) {
          const auto jitter = static_cast<index_t>(mix64(static_cast<std::uint64_t>(s)) %
                                                   static_cast<std::uint64_t>(n / samples + 1));
          return map.to_bits(key_of(data[std::min(n - 1, s * (n / samples) + jitter)]));
        },
        wanted, map);
  }

  /// Divides likewise by a sample of bits, bits_at(s) for s in [0, samples).
  template <class BitsAt>
  void divide_by_sample(index_t samples, const BitsAt& bits_at, index_t wanted,
                        const KeyMap<B>& map) {
    Bounds<B> bounds;
    for (index_t s = 0; s < samples; ++s) {
      const B bits = bits_at(s);
      sample_[static_cast<std::size_t>(s)] = bits;
      bounds = {std::min(bounds.low, bits), std::max(bounds.high, bits)};
    }
    divide_evenly(bounds, wanted, map);
    spread_ = Spread::even;
    Weights weights = weigh(samples);
    if (is_even(weights, samples) || divide_by_value(samples, map)) return;
    const index_t most = *std::max_element(weights.begin(), weights.end());
    if (most > samples / 16) {
      division_.logarithmic = true;
      const Weights logarithmic = weigh(samples);
      division_.logarithmic =
          *std::max_element(logarithmic.begin(), logarithmic.end()) < most - most / 4;
      if (division_.logarithmic) weights = logarithmic;
    }
    divide_by_weight(weights, samples, wanted);
    spread_ = is_even_in_slices(samples) ? Spread::even_in_slices : Spread::uneven;
  }

  [[nodiscard]] const Division<B>& division() const { return division_; }
  [[nodiscard]] index_t buckets() const { return buckets_; }
  [[nodiscard]] Spread spread() const { return spread_; }

  /// Returns bounds of all keys of bucket b; the outermost are open.
  [[nodiscard]] Bounds<B> bounds(index_t b) const {
    const B next = b + 1 == buckets_ ? all : first_bits(b + 1);
    return {b == 0 ? B{0} : first_bits(b), next == all ? all : static_cast<B>(next - 1)};
  }

 private:
  static constexpr int place_bits = 28;
  static constexpr std::size_t slices = 1 << 12;
  static constexpr index_t most_samples = 8192;
  static constexpr B all = static_cast<B>(~B{0});
  using Weights = std::array<index_t, slices>;

  [[nodiscard]] Weights weigh(index_t samples) const {
    Weights weights{};
    for (index_t s = 0; s < samples; ++s)
      ++weights[place(sample_[static_cast<std::size_t>(s)]) >> 16];
    return weights;
  }

  [[nodiscard]] std::uint64_t place(B bits) const {
    const std::uint64_t above = std::max(bits, division_.low) - division_.low;
    if (division_.logarithmic) return log_place(above);
    return (std::min<std::uint64_t>(above, division_.range) >> division_.right) << division_.left;
  }

  /// Returns the least bits that belong to bucket b > 0 or a later one; the greatest possible if
  /// none do.
  [[nodiscard]] B first_bits(index_t b) const {
    if (division_.by_value) return first_bits_by_value(static_cast<std::uint64_t>(b));
    const std::uint64_t first = first_place(static_cast<std::uint64_t>(b));
    return division_.logarithmic ? first_bits_log(first) : first_bits_even(first);
  }
  [[nodiscard]] B first_bits_log(std::uint64_t first) const {
    if (first > log_place(static_cast<B>(all - division_.low))) return all;
    const int length = std::max(static_cast<int>(first >> log_bits) + log_least - 1, log_least);
    const std::uint64_t scaled =
        first - (static_cast<std::uint64_t>(length - log_least) << log_bits);
    const int to_left = length - log_bits - 1;
    const std::uint64_t above = to_left >= 0
                                    ? scaled << to_left
                                    : (scaled + (std::uint64_t{1} << -to_left) - 1) >> -to_left;
    return static_cast<B>(division_.low + static_cast<B>(above));
  }
  [[nodiscard]] B first_bits_even(std::uint64_t first) const {
    const std::uint64_t steps =
        (first + (std::uint64_t{1} << division_.left) - 1) >> division_.left;
    if (steps > std::uint64_t{division_.range} >> division_.right) return all;
    return static_cast<B>(division_.low + (steps << division_.right));
  }

  [[nodiscard]] static double value_of(B bits, const KeyMap<B>& map) {
    if constexpr (sizeof(B) == sizeof(double))
      return std::bit_cast<double>(map.to_raw(bits));
    else
      return 0;
  }
  [[nodiscard]] B first_bits_by_value(std::uint64_t b) const {
    B low = 0, high = all;
    while (low < high) {
      const B middle = static_cast<B>(low + (high - low) / 2);
      if (bucket_of_value(division_, value_of(middle, division_.map)) >= b)
        high = middle;
      else
        low = static_cast<B>(middle + 1);
    }
    return low;
  }

  [[nodiscard]] std::uint64_t first_place(std::uint64_t b) const {
    if (division_.table == nullptr)
      return ((b << 16) + division_.factor - 1) / division_.factor << 12;
    const auto at = std::lower_bound(
        table_.begin(), table_.end(), b,
        [](std::uint32_t entry, std::uint64_t value) { return (entry >> 16) < value; });
    const auto slice = static_cast<std::uint64_t>(at - table_.begin());
    if (at != table_.end() && *at >> 16 == b) return slice << 16;
    const std::uint64_t base = table_[slice - 1] >> 16, width = table_[slice - 1] & 0xffff;
    return ((slice - 1) << 16) + (((b - base) << 16) + width - 1) / width;
  }

  [[nodiscard]] index_t most_of_even(index_t samples) const {
    return 2 * ceil_div(samples, buckets_) + 8;
  }

  /// Returns whether no bucket has much more than its share of the sample.
  [[nodiscard]] bool is_even(const Weights& weight, index_t samples) const {
    index_t share = 0, bucket = 0;
    const index_t most = most_of_even(samples);
    for (std::size_t slice = 0; slice < slices; ++slice) {
      const auto its = static_cast<index_t>(((slice << 4) * division_.factor) >> 16);
      share = its == bucket ? share + weight[slice] : weight[slice];
      bucket = its;
      if (share > most) return false;
    }
    return true;
  }

  /// Divides by value and returns true if the sample consists of doubles that are evenly
  /// distributed as numbers.
  [[nodiscard]] bool divide_by_value(index_t samples, const KeyMap<B>& map) {
    if (sizeof(B) != sizeof(double) || map.spread == 0) return false;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (index_t s = 0; s < samples; ++s) {
      const double x = value_of(sample_[static_cast<std::size_t>(s)], map);
      if (!std::isfinite(x)) continue;
      least = std::min(least, x);
      most = std::max(most, x);
    }
    const double per_unit = static_cast<double>(buckets_) / (most - least);
    if (!std::isfinite(per_unit) || per_unit <= 0) return false;
    Division<B> even = division_;
    even.by_value = true;
    even.origin = map.mirrored != 0 ? most : least;
    even.per_unit = map.mirrored != 0 ? -per_unit : per_unit;
    even.last = static_cast<double>(buckets_ - 1);
    machine::List<index_t> count(static_cast<std::size_t>(buckets_));
    for (index_t s = 0; s < samples; ++s)
      ++count[bucket_of_value(even, value_of(sample_[static_cast<std::size_t>(s)], map))];
    if (*std::max_element(count.begin(), count.end()) > most_of_even(samples)) return false;
    division_ = even;
    return true;
  }

  /// Divides by weight: light slices share buckets, heavy ones have several, as if keys were evenly
  /// distributed within a slice.
  void divide_by_weight(const Weights& weight, index_t samples, index_t wanted) {
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

  /// Returns whether about as many keys are in the lower half of their part of a slice as in the
  /// upper one: 7/12 at most.
  [[nodiscard]] bool is_even_in_slices(index_t samples) const {
    index_t lower = 0;
    for (index_t s = 0; s < samples; ++s) {
      const std::uint64_t at = place(sample_[static_cast<std::size_t>(s)]);
      const std::uint64_t width = table_[at >> 16] & 0xffff;
      lower += ((at & 0xffff) * width & 0x8000) == 0 ? 1 : 0;
    }
    return 12 * std::max(lower, samples - lower) <= 7 * samples;
  }

  Division<B> division_;
  index_t buckets_ = 0;
  Spread spread_ = Spread::even;
  std::array<std::uint32_t, slices> table_;
  std::array<B, most_samples> sample_;
};

}  // namespace tessera::inline v1::sort
