#pragma once
// Division of 64-bit keys by their leading bits: into buckets of nearly equal size by a histogram
// of their first bits, then each into sub-buckets by the position of its keys in its range.
// Contains the plan, which one device computes itself or the host computes for several, and the
// interface of the kernels with which ranks divide keys together.

#include <cstddef>
#include <cstdint>

#include "kernels/sort/key.hpp"

struct CUstream_st;

namespace tessera::inline v1::sort::buckets {

using U64 = unsigned long long;  // the type of device atomics

inline constexpr int fine_bits = 11, fine_bins = 1 << fine_bits;
inline constexpr int most_buckets = 768;       // and sub-buckets of a bucket
inline constexpr int least_varying_bits = 33;  // with fewer, a sweep per digit moves no more bytes
inline constexpr index_t usual_keys = 4096;    // of a sub-bucket, at most, if keys are evenly
                                               // distributed

struct Bucket {
  U64 low;           ///< lower bound of its keys
  index_t begin, n;  ///< its keys in the array
  int shift;         ///< (key - low) >> shift has 32 bits
  unsigned scale;    ///< sub-bucket = that * scale >> 32
};

/// Returns a key's position in its bucket's range, as sub-bucket and 32 bits of fraction.
[[nodiscard]] TESSERA_HD constexpr U64 place_in(const Bucket& bucket, U64 bits) {
  return static_cast<U64>(static_cast<unsigned>((bits - bucket.low) >> bucket.shift)) *
         bucket.scale;
}

[[nodiscard]] TESSERA_HD constexpr unsigned fine_bin(U64 bits, int known) {
  return static_cast<unsigned>((bits << known) >> (64 - fine_bits));
}

/// The numbers of buckets and of sub-buckets per bucket.
struct Division {
  int buckets, subs;
};

/// State of a sort, determined before keys are counted and after they are sorted.
struct State {
  int known;       ///< leading bits common to all sampled keys
  U64 prefix;      ///< those bits, at the low end
  unsigned going;  ///< this method is in use
  unsigned done;   ///< the keys are in order, or will be after the last kernel
  unsigned descends;
  unsigned overflows;  ///< a sub-bucket exceeds the capacity of a block
};

struct Plan : State {
  U64 fine[fine_bins + 1];  ///< histogram of the bits after the known ones; last: keys with another
                            ///< prefix
  std::uint16_t bucket_of[fine_bins];
  Bucket bucket[most_buckets];
  unsigned first_tile[most_buckets + 1];
  U64 cursor[most_buckets];  ///< of each bucket, the address for the next key
};

/// Returns the numbers of buckets of a rank and sub-buckets such that a sub-bucket has 2048 to 4096
/// of n evenly distributed keys, as far as the limit permits: the buckets of all ranks are counted
/// at once.
[[nodiscard]] constexpr Division division_of(index_t n, int ranks) {
  const int most = most_buckets / ranks;
  Division into{most < 16 ? most : 16, 16};
  while (n / (index_t{into.buckets} * into.subs) > usual_keys) {
    const bool more_subs =
        into.subs < most_buckets && (into.subs <= into.buckets || into.buckets == most);
    if (!more_subs && into.buckets == most) break;
    int& more = more_subs ? into.subs : into.buckets;
    const int limit = more_subs ? most_buckets : most;
    more = 2 * more < limit ? 2 * more : limit;
  }
  return into;
}

/// Returns the bucket of keys [begin, end) among n > 0 in order.
[[nodiscard]] TESSERA_HD constexpr int bucket_at(index_t begin, index_t end, index_t n,
                                                 int buckets) {
  const index_t bucket = (begin + end) / 2 * buckets / n;
  return static_cast<int>(bucket < buckets ? bucket : buckets - 1);
}

/// Returns whether a bucket of `keys` keys exceeds the size for which parts in shared memory are
/// designed.
[[nodiscard]] TESSERA_HD constexpr bool uneven(index_t keys, index_t n, int buckets) {
  return keys > 4 * n / buckets;
}

/// Returns the bucket of fine bins [first, end) with its range and division.
[[nodiscard]] TESSERA_HD constexpr Bucket make_bucket(const State& state, int first, int end,
                                                      index_t begin, index_t n, int subs) {
  const int rest = 64 - fine_bits - state.known;
  int bits = rest;  // length of the range's last key, relative to the range
  for (int bins = end - first - 1; bins > 0; bins /= 2) ++bits;
  const int shift = bits > 32 ? bits - 32 : 0;
  const U64 base = state.known == 0 ? 0 : state.prefix << (64 - state.known);
  const U64 last = (static_cast<U64>(end - first) << rest) - 1;
  const U64 scale = (static_cast<U64>(subs) << 32) / ((last >> shift) + 1);
  return {base + (static_cast<U64>(first) << rest), begin, n, shift,
          static_cast<unsigned>(scale < 0xffffffffULL ? scale : 0xffffffffULL)};
}

/// Device kernels for data and plans in memory that the device can access, on a stream.
struct Kernels {
  index_t least_keys = 0;  ///< minimum per rank
  /// The keys of a tile that are read contiguously.
  index_t tile = 1;
  /// Samples n >= least_keys keys: sets plan->known, prefix and going.
  void (*look)(const std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map, Plan* plan,
               CUstream_st* stream) = nullptr;
  /// Counts keys by the bits after the known ones: adds to plan->fine. No effect unless
  /// plan->going, as for the next.
  void (*count)(const std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map, Plan* plan,
                CUstream_st* stream) = nullptr;
  /// Moves the keys' mapped bits to the addresses given by the cursors of their buckets.
  void (*divide)(const std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map,
                 int buckets, Plan* plan, CUstream_st* stream) = nullptr;
  /// Sorts to[0:n] = bits[0:n] ascending, as keys, if plan->done afterwards; otherwise bits are
  /// unchanged. Precondition: bits are grouped by bucket, and the plan has into.buckets of them and
  /// first_tile. Overwrites subs[0:n]; to may be either of the two. work has work_bytes(into).
  void (*sort)(const std::uint64_t* bits, std::uint64_t* subs, std::uint64_t* to, index_t n,
               const KeyMap<std::uint64_t>& map, const Division& into, Plan* plan, std::byte* work,
               CUstream_st* stream) = nullptr;
  index_t (*work_bytes)(const Division& into) = nullptr;
  /// Maps keys[0:n] from mapped bits back to raw keys.
  void (*to_raw)(std::uint64_t* keys, index_t n, const KeyMap<std::uint64_t>& map,
                 CUstream_st* stream) = nullptr;
  /// Returns whether they run on the current device; nullptr: always.
  bool (*fits)() = nullptr;
};

}  // namespace tessera::inline v1::sort::buckets
