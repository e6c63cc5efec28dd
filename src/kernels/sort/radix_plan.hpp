#pragma once
// How radix divides keys among buckets: by equal slices of a sampled range where the keys are spread evenly,
// by slices of equal weight where they are not.

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "kernels/sort/leaf.hpp"

namespace tessera::sort {

inline constexpr index_t slice_count = index_t{1} << slice_bits;

template <class B>
struct RadixPlan {
  Slices<B> slices;
  index_t buckets = 0;
  std::array<std::uint16_t, slice_count> bucket_of{};  ///< of a slice; ascending

  /// All keys of bucket b have bits in [first_bits(b), first_bits(b + 1) - 1], the outermost apart.
  [[nodiscard]] B first_bits(index_t b) const {
    const auto at = std::lower_bound(bucket_of.begin(), bucket_of.end(), b);
    return static_cast<B>(slices.low + (static_cast<B>(at - bucket_of.begin()) << slices.shift));
  }
};

/// A plan for about `wanted` buckets (at least 2, at most 2^11) of raw keys data[0:n], n > 0, from a sample.
template <class B>
[[nodiscard]] RadixPlan<B> plan_buckets(const B* data, index_t n, index_t wanted, const KeyMap<B>& map) {
  const index_t samples = std::clamp<index_t>(n / 512, 256, 8192);
  std::array<B, 8192> sample;
  for (index_t s = 0; s < samples; ++s) {
    const auto jitter = static_cast<index_t>(mix64(static_cast<std::uint64_t>(s)) %
                                             static_cast<std::uint64_t>(n / samples + 1));
    sample[static_cast<std::size_t>(s)] = map.to_bits(data[std::min(n - 1, s * (n / samples) + jitter)]);
  }
  const auto [least, greatest] = std::minmax_element(sample.begin(), sample.begin() + samples);
  RadixPlan<B> plan;
  const B range = static_cast<B>(*greatest - *least);
  plan.slices = {*least, std::max(0, bit_length(range) - slice_bits), map};
  const auto used = static_cast<index_t>(range >> plan.slices.shift) + 1;

  std::array<index_t, slice_count> weight{};
  for (index_t s = 0; s < samples; ++s) {
    ++weight[static_cast<std::size_t>(static_cast<B>(sample[static_cast<std::size_t>(s)] - *least) >>
                                      plan.slices.shift)];
  }
  const index_t even = std::min(wanted, used);
  std::array<index_t, slice_count> in_even{};
  for (index_t slice = 0; slice < slice_count; ++slice) {
    const auto bucket = static_cast<std::size_t>(std::min(even - 1, slice * even / used));
    plan.bucket_of[static_cast<std::size_t>(slice)] = static_cast<std::uint16_t>(bucket);
    in_even[bucket] += weight[static_cast<std::size_t>(slice)];
  }
  plan.buckets = even;
  if (*std::max_element(in_even.begin(), in_even.end()) <= 2 * ceil_div(samples, even) + 8) return plan;

  index_t before = 0, bucket = -1, share = -1;
  for (index_t slice = 0; slice < slice_count; ++slice) {
    const index_t next = std::min(wanted - 1, before * wanted / samples);
    if (next != share) ++bucket;
    share = next;
    plan.bucket_of[static_cast<std::size_t>(slice)] = static_cast<std::uint16_t>(bucket);
    before += weight[static_cast<std::size_t>(slice)];
  }
  plan.buckets = bucket + 1;
  return plan;
}

}  // namespace tessera::sort
