#pragma once
// Device operations of ranks that sort keys together which stay on their devices: digit histograms,
// from which splitters between the ranks are found, the partition of keys by splitters, and the
// sort of a part.

#include <cstddef>
#include <cstdint>

#include "kernels/sort/buckets.hpp"
#include "kernels/sort/key.hpp"

struct CUstream_st;

namespace tessera::inline v1::sort {

inline constexpr int digit_bits = 11;
inline constexpr index_t digit_values = index_t{1} << digit_bits;
inline constexpr int most_parts = 16;
inline constexpr int most_bounds = most_parts - 1;

/// Distinct prefixes of keys, `known` bits each.
template <class B>
struct Prefixes {
  int count = 1, known = 0;
  B bits[most_bounds] = {};
};

/// Returns the first `known` bits of a key; digit_of returns the digit after them, and the last
/// digit may be shorter.
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

/// The splitters between parts: keys with fewer bits are below, and of this rank's keys with equal
/// bits the first `ties`.
template <class B>
struct Bounds {
  int count = 0;
  B at[most_bounds] = {};  ///< ascending
  std::uint64_t ties[most_bounds] = {};
};

/// Returns the first bound with these bits, whose count of ties applies; -1 if none has.
template <class B>
[[nodiscard]] TESSERA_HD constexpr int tie_of(const Bounds<B>& bounds, B bits) {
  for (int s = 0; s < bounds.count; ++s)
    if (bounds.at[s] == bits) return s;
  return -1;
}
/// Returns the part of a key; `number`: its number among this rank's keys with the same bits.
template <class B>
[[nodiscard]] TESSERA_HD constexpr int part_of(const Bounds<B>& bounds, B bits,
                                               std::uint64_t number) {
  int part = 0;
  for (int s = 0; s < bounds.count; ++s)
    if (bits > bounds.at[s] || (bits == bounds.at[s] && number >= bounds.ties[s])) ++part;
  return part;
}

/// The destinations of the parts; cursors (in device memory): first each part's next free element,
/// then, by bound, the number of keys with its bits so far.
template <class B>
struct Parts {
  B* data[most_parts] = {};
  std::uint64_t* cursors = nullptr;
};

/// Keys whose order is wanted, in memory that the device can access; all arrays have n elements and
/// are overwritten.
template <class B>
struct OrderOfKeys {
  B *keys = nullptr, *spare_keys = nullptr;
  std::uint64_t *order = nullptr, *spare_order = nullptr;
  index_t n = 0;
  KeyMap<B> map{};
  std::byte* work = nullptr;  ///< aligned to 256
};

/// Device kernels for data in memory that the device can access, on a stream.
template <class B>
struct ResidentKernels {
  /// Computes counts[p * digit_values + d] += the keys with prefix p followed by digit d.
  void (*count)(const B* keys, index_t n, const KeyMap<B>& map, const Prefixes<B>& prefixes,
                std::uint64_t* counts, CUstream_st* stream) = nullptr;
  /// Sets *descends to 1 if a key has lesser bits than the previous one.
  void (*find_descent)(const B* keys, index_t n, const KeyMap<B>& map, std::uint64_t* descends,
                       CUstream_st* stream) = nullptr;
  /// Moves every key to its part, in any order.
  void (*partition)(const B* keys, index_t n, const KeyMap<B>& map, const Bounds<B>& bounds,
                    const Parts<B>& parts, CUstream_st* stream) = nullptr;
  /// Sorts keys[0:n] ascending by mapped bits; spare[0:n] overlaps nothing, work has work_bytes(n).
  void (*sort)(B* keys, B* spare, index_t n, const KeyMap<B>& map, std::byte* work,
               CUstream_st* stream) = nullptr;
  index_t (*work_bytes)(index_t n) = nullptr;
  /// Sets order[j] to the position of the key that belongs at j, stably; of reals, -0 equals 0, and
  /// all NaN are equal and last. work has argsort_bytes(n).
  void (*argsort)(const OrderOfKeys<B>& block, CUstream_st* stream) = nullptr;
  index_t (*argsort_bytes)(index_t n) = nullptr;
  /// Kernels for 64-bit keys that ranks divide directly into the buckets of their sort; nullptr for
  /// others.
  const buckets::Kernels* dividing = nullptr;
};

/// Returns the best kernels; nullptr in a build without CUDA.
[[nodiscard]] const ResidentKernels<std::uint32_t>* resident_kernels(std::uint32_t);
[[nodiscard]] const ResidentKernels<std::uint64_t>* resident_kernels(std::uint64_t);
template <class B>
[[nodiscard]] const ResidentKernels<B>* compiled_kernels();  // those of libtessera_cuda.so

}  // namespace tessera::inline v1::sort
