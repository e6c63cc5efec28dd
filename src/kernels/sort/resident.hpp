#pragma once
// What ranks need of their devices to sort keys together that stay there: counts by digits, from
// which bounds between the ranks are found, the keys taken to the parts between bounds, and the
// sort of a part.

#include <cstddef>
#include <cstdint>

#include "kernels/sort/buckets.hpp"
#include "kernels/sort/key.hpp"

struct CUstream_st;

namespace tessera::sort {

inline constexpr int digit_bits = 11;
inline constexpr index_t digit_values = index_t{1} << digit_bits;
inline constexpr int most_parts = 16;
inline constexpr int most_bounds = most_parts - 1;

/// Beginnings of keys, `known` bits each, and no two alike.
template <class B>
struct Prefixes {
  int count = 1, known = 0;
  B bits[most_bounds] = {};
};

/// The digit of a key behind its first `known` bits; the last one may be shorter.
template <class B>
[[nodiscard]] TESSERA_HD constexpr B prefix_of(B bits, int known) {
  constexpr int width = std::numeric_limits<B>::digits;
  return known == 0 ? B{0} : static_cast<B>(bits >> (width - known));
}
[[nodiscard]] TESSERA_HD constexpr int digit_length(int width, int known) {
  return width - known < digit_bits ? width - known : digit_bits;
}
template <class B>
[[nodiscard]] TESSERA_HD constexpr index_t digit_of(B bits, int known) {
  constexpr int width = std::numeric_limits<B>::digits;
  const int length = digit_length(width, known);
  return static_cast<index_t>(static_cast<B>(bits >> (width - known - length)) &
                              static_cast<B>((B{1} << length) - 1));
}

/// Where a part ends and the next begins: keys with fewer bits lie below, and of this rank's keys
/// with just these bits so many.
template <class B>
struct Bounds {
  int count = 0;
  B at[most_bounds] = {};  ///< ascending
  std::uint64_t ties[most_bounds] = {};
};

/// The bound whose count of ties a key with these bits belongs to: the first one there; -1 for
/// none.
template <class B>
[[nodiscard]] TESSERA_HD constexpr int tie_of(const Bounds<B>& bounds, B bits) {
  for (int s = 0; s < bounds.count; ++s)
    if (bounds.at[s] == bits) return s;
  return -1;
}
/// The part of a key; `number`: its number among this rank's keys with the same bits.
template <class B>
[[nodiscard]] TESSERA_HD constexpr int part_of(const Bounds<B>& bounds, B bits,
                                               std::uint64_t number) {
  int part = 0;
  for (int s = 0; s < bounds.count; ++s)
    if (bits > bounds.at[s] || (bits == bounds.at[s] && number >= bounds.ties[s])) ++part;
  return part;
}

/// Where the parts go; cursors (in the device's memory): first each part's next free place, then,
/// by bound, how many keys with its bits have been seen.
template <class B>
struct Parts {
  B* data[most_parts] = {};
  std::uint64_t* cursors = nullptr;
};

/// All on memory that the device reaches, on a stream.
template <class B>
struct ResidentKernels {
  /// counts[p * digit_values + d] += the keys that begin as prefix p and go on with digit d.
  void (*count)(const B* keys, index_t n, const KeyMap<B>& map, const Prefixes<B>& prefixes,
                std::uint64_t* counts, CUstream_st* stream) = nullptr;
  /// *descends = 1 where a key has lesser bits than the one before it.
  void (*find_descent)(const B* keys, index_t n, const KeyMap<B>& map, std::uint64_t* descends,
                       CUstream_st* stream) = nullptr;
  /// Takes every key to its part, in any order.
  void (*partition)(const B* keys, index_t n, const KeyMap<B>& map, const Bounds<B>& bounds,
                    const Parts<B>& parts, CUstream_st* stream) = nullptr;
  /// keys[0:n] ascending by mapped bits; spare[0:n] overlaps nothing, work has work_bytes(n).
  void (*sort)(B* keys, B* spare, index_t n, const KeyMap<B>& map, std::byte* work,
               CUstream_st* stream) = nullptr;
  index_t (*work_bytes)(index_t n) = nullptr;
  /// For keys of 64 bits that ranks divide into the buckets of their sort at once; nullptr for
  /// others.
  const buckets::Kernels* dividing = nullptr;
};

/// The best ones; nullptr in a build without CUDA.
[[nodiscard]] const ResidentKernels<std::uint32_t>* resident_kernels(std::uint32_t);
[[nodiscard]] const ResidentKernels<std::uint64_t>* resident_kernels(std::uint64_t);

}  // namespace tessera::sort
