#pragma once
// The inner kernels of radix, compiled per instruction set: classification of keys into buckets,
// and sorting in cache.

#include <algorithm>
#include <cstdint>

#include "kernels/sort/key.hpp"
#include "kernels/sort/survey.hpp"

namespace tessera::inline v1::sort {

/// The division of a key range among buckets. A key's place in the range is scaled to 28 bits, the
/// upper 12 of which are its slice:
///   place = (min(max(bits, low) - low, range) >> right) << left
/// or, if most keys are near the least one, logarithmic (log_place below) with six bits per power
/// of two. Buckets are either even (table == nullptr): (place >> 12) * factor >> 16; or each slice
/// has `width` separate buckets from `base` on: base + ((place & 0xffff) * width >> 16),
/// table[slice] = base << 16 | width. Doubles that are evenly distributed as numbers, hence
/// unevenly as bits, are divided as numbers: bucket_of_value.
template <class B>
struct Division {
  B low = 0, range = 0;
  int right = 0, left = 0;
  std::uint32_t factor = 0;
  const std::uint32_t* table = nullptr;
  bool logarithmic = false;  ///< only with a table
  bool by_value = false;     ///< for doubles only
  double origin = 0, per_unit = 0, last = 0;
  KeyMap<B> map{};
};

/// The places of a logarithmic division: numbers below 2^7 are scaled by 2^16; above, every power
/// of two has 2^22 places, so that a number's place begins with its length and the six bits after
/// its first one.
inline constexpr int log_bits = 22, log_least = 7;
[[nodiscard]] constexpr std::uint64_t log_place(std::uint64_t x) {
  const int length = std::max(bit_length(x), log_least);
  const std::uint64_t scaled =
      length > log_bits ? x >> (length - log_bits - 1) : x << (log_bits + 1 - length);
  return (static_cast<std::uint64_t>(length - log_least) << log_bits) + scaled;
}

/// Returns the bucket of a number, monotonic in its bits: NaNs are in the last bucket.
template <class B>
[[nodiscard]] constexpr std::uint64_t bucket_of_value(const Division<B>& division, double x) {
  const double at = (x - division.origin) * division.per_unit;
  const double bucket = at < division.last ? at : division.last;
  return bucket > 0 ? static_cast<std::uint64_t>(bucket) : 0;
}

/// Maximum keys classified in one call, which stay in the first-level cache.
inline constexpr index_t classify_batch = 512;

/// A contiguous sequence of keys (or pairs).
template <class Item>
struct Piece {
  const Item* data;
  index_t n;
};

/// Least and greatest of the bits seen.
template <class B>
struct Bounds {
  B low = static_cast<B>(~B{0});
  B high = 0;
};

/// The problem to[0:n] = the keys of the pieces (n in total), sorted by bits, as raw keys. All bits
/// are within bounds; work[0:n] is overwritten; neither overlaps a piece. B is the unsigned type of
/// the keys, or its traced form.
template <class B>
struct Bucket {
  const Piece<B>* pieces;
  index_t count;
  B* to;
  B* work;
  index_t n;
  Bounds<Plain<B>> bounds;
  KeyMap<Plain<B>> map;  ///< for mapping back: pieces hold bits
};

template <class B>
struct LeafKernels {
  /// Maximum keys of sort_few.
  index_t few;
  /// Sorts to[0:n] = from[0:n], as raw keys; n <= few. from holds bits, all within bounds, and may
  /// be to.
  void (*sort_few)(const B* from, B* to, index_t n, Bounds<Plain<B>> bounds,
                   const KeyMap<Plain<B>>& map);
  void (*sort_many)(const Bucket<B>&);
  /// Sets bits[0:n] = raw[0:n] mapped and bucket[0:n] = their buckets. Prefetches ahead[0:n], keys
  /// for a later call: the hardware stops at the ends of pages and pieces.
  void (*classify)(const Division<Plain<B>>&, const B* raw, index_t n, const B* ahead, B* bits,
                   std::uint16_t* bucket);
  /// Copies to[0:bytes] = from[0:bytes] by streaming stores; bytes is a multiple of 64.
  void (*copy_past_cache)(const void* from, void* to, index_t bytes);
  /// Surveys raw[0:n]; `first` is the raw key before raw[0] (or raw[0] itself).
  Survey (*survey)(const B* raw, index_t n, B first, const KeyMap<Plain<B>>& map);
  /// Sorts data[0:n], raw keys, by their bits, on this thread; n is at least 2^10. nullptr if there
  /// is no quicksort that is faster than radix for unevenly distributed keys.
  void (*quicksort)(B* data, index_t n, const KeyMap<Plain<B>>& map) = nullptr;
  /// Merges a[0:na] and b[0:nb], all bits, into to[0:na+nb]; `to` overlaps neither. nullptr if none
  /// is faster than merge_sequential.
  void (*merge)(const B* a, index_t na, const B* b, index_t nb, B* to) = nullptr;
};

namespace baseline {
extern const LeafKernels<std::uint32_t> leaf_kernels32;
extern const LeafKernels<std::uint64_t> leaf_kernels64;
}  // namespace baseline
namespace avx512 {
extern const LeafKernels<std::uint32_t> leaf_kernels32;
extern const LeafKernels<std::uint64_t> leaf_kernels64;
}  // namespace avx512

/// Returns the kernels of the best instruction set of this processor.
template <class B>
[[nodiscard]] const LeafKernels<B>& leaf_kernels();
template <>
[[nodiscard]] const LeafKernels<std::uint32_t>& leaf_kernels();
template <>
[[nodiscard]] const LeafKernels<std::uint64_t>& leaf_kernels();

}  // namespace tessera::inline v1::sort
