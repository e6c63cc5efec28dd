#pragma once
// Ranking of a warp's keys by a digit: lanes with the same digit find each other and count together
// (warp-level multisplit).

#include "kernels/sort/cuda_device.cuh"

namespace tessera::inline v1::sort::onesweep {

inline constexpr int digit_bits = 8;
inline constexpr int bins = 1 << digit_bits;
template <class Key>
inline constexpr int passes = static_cast<int>(sizeof(Key));

/// The method by which lanes with the same digit find each other.
enum class Match {
  votes,        ///< one warp vote per bit
  instruction,  ///< match.any
};

/// The method by which a warp counts the keys of its bins.
enum class Tally {
  atomics,  ///< one of the lanes with the same digit adds and broadcasts the result
  turns,    ///< all of them read the counter, then one writes it
};

/// Tuning parameters, determined by measurement.
template <int threads_, int items_, int blocks_, unsigned look_back_ = 8,
          Match match_ = Match::votes, Tally tally_ = Tally::turns>
struct Shape {
  static constexpr int threads = threads_, items = items_;  // per block; per thread
  static constexpr int blocks = blocks_;  // resident blocks per multiprocessor, which limits
                                          // registers
  static constexpr unsigned look_back = look_back_;  // status words that a thread reads at once
  static constexpr Match match = match_;
  static constexpr Tally tally = tally_;
  static constexpr int warps = threads / 32;
  static constexpr unsigned tile = threads * items;
  static_assert(threads >= bins && threads % 32 == 0 && tile <= 1 << 16);
};

/// Returns the byte of a key that starts at bit `shift`, a multiple of 8.
__device__ __forceinline__ unsigned digit_of(std::uint32_t key, int shift) {
  return __byte_perm(key, 0, 0x4440U + static_cast<unsigned>(shift) / digit_bits);
}
__device__ __forceinline__ unsigned digit_of(std::uint64_t key, int shift) {
  const auto low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
  return digit_of(shift < 32 ? low : high, shift % 32);
}

/// Returns the lanes that agree with this one in the 4 lowest bits of x. In C++ the same takes
/// seven instructions per bit instead of three; with all eight bits in one piece the compiler runs
/// out of predicates.
__device__ __forceinline__ unsigned peers_in_nibble(unsigned x) {
  unsigned peers;
  asm volatile(
      "{\n\t"
      ".reg .pred p0, p1, p2, p3;\n\t"
      ".reg .b32 bit, v0, v1, v2, v3;\n\t"
      "and.b32 bit, %1, 1;\n\t"
      "setp.ne.u32 p0, bit, 0;\n\t"
      "and.b32 bit, %1, 2;\n\t"
      "setp.ne.u32 p1, bit, 0;\n\t"
      "and.b32 bit, %1, 4;\n\t"
      "setp.ne.u32 p2, bit, 0;\n\t"
      "and.b32 bit, %1, 8;\n\t"
      "setp.ne.u32 p3, bit, 0;\n\t"
      "vote.sync.ballot.b32 v0, p0, 0xffffffff;\n\t"
      "vote.sync.ballot.b32 v1, p1, 0xffffffff;\n\t"
      "vote.sync.ballot.b32 v2, p2, 0xffffffff;\n\t"
      "vote.sync.ballot.b32 v3, p3, 0xffffffff;\n\t"
      "@!p0 not.b32 v0, v0;\n\t"
      "@!p1 not.b32 v1, v1;\n\t"
      "@!p2 not.b32 v2, v2;\n\t"
      "@!p3 not.b32 v3, v3;\n\t"
      "and.b32 v0, v0, v1;\n\t"
      "and.b32 v2, v2, v3;\n\t"
      "and.b32 %0, v0, v2;\n\t"
      "}"
      : "=r"(peers)
      : "r"(x));
  return peers;
}

/// Returns the lanes with this lane's digit.
template <Match match>
__device__ __forceinline__ unsigned peers_of(unsigned digit) {
  if constexpr (match == Match::instruction) {
    return __match_any_sync(all_lanes, digit);
  } else {
    return peers_in_nibble(digit) & peers_in_nibble(digit >> 4);
  }
}

/// Computes old = *counter, *counter += x under a predicate, without a branch; returns 0 if it is
/// false.
__device__ __forceinline__ unsigned add_where(bool here, unsigned* shared_counter, unsigned x) {
  unsigned old = 0;
  asm volatile(
      "{\n\t"
      ".reg .pred here;\n\t"
      "setp.ne.u32 here, %1, 0;\n\t"
      "@here atom.shared.add.u32 %0, [%2], %3;\n\t"
      "}"
      : "+r"(old)
      : "r"(here ? 1U : 0U), "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared_counter))),
        "r"(x)
      : "memory");
  return old;
}

__device__ __forceinline__ void write_where(bool here, unsigned* shared_counter, unsigned x) {
  asm volatile(
      "{\n\t"
      ".reg .pred here;\n\t"
      "setp.ne.u32 here, %0, 0;\n\t"
      "@here st.shared.u32 [%1], %2;\n\t"
      "}" ::"r"(here ? 1U : 0U),
      "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared_counter))), "r"(x)
      : "memory");
}

__device__ __forceinline__ unsigned highest_lane(unsigned lanes) {
  unsigned lane;
  asm("bfind.u32 %0, %1;" : "=r"(lane) : "r"(lanes));
  return lane;
}

/// Adds the peers to their counter; returns its previous value, with atomics only for the highest
/// peer. below: number of peers in lower lanes.
template <Tally tally>
__device__ __forceinline__ unsigned count_peers(unsigned* counter, unsigned peers, unsigned below) {
  if constexpr (tally == Tally::atomics) {
    const unsigned before = add_where(highest_lane(peers) == lane_id(), counter, below + 1);
    __syncwarp();  // the next keys are counted after these
    return before;
  } else {
    const unsigned before = *counter;
    __syncwarp();
    write_where((peers & lanes_above()) == 0, counter, before + below + 1);
    __syncwarp();
    return before;
  }
}

/// Sets ranks[u] to the number of preceding keys of this warp with the same digit, and
/// counters[0:bins] to their totals. Processes a few keys at a time, so that their votes and counts
/// overlap.
template <class S, class Key>
__device__ __forceinline__ void rank_in_warp(const Key (&keys)[S::items], int shift,
                                             unsigned* counters, unsigned (&ranks)[S::items]) {
  constexpr int together = 4;
  const unsigned below = lanes_below();
#pragma unroll
  for (int first = 0; first < S::items; first += together) {
    unsigned peers[together];
#pragma unroll
    for (int g = 0; g < together; ++g) {
      if (first + g < S::items) {
        peers[g] = peers_of<S::match>(digit_of(keys[first + g], shift));
        ranks[first + g] = static_cast<unsigned>(__popc(peers[g] & below));
      }
    }
    unsigned before[together];
#pragma unroll
    for (int g = 0; g < together; ++g) {
      if (first + g < S::items)
        before[g] = count_peers<S::tally>(counters + digit_of(keys[first + g], shift), peers[g],
                                          ranks[first + g]);
    }
#pragma unroll
    for (int g = 0; g < together; ++g) {
      if (first + g >= S::items) continue;
      if constexpr (S::tally == Tally::atomics)
        before[g] = __shfl_sync(all_lanes, before[g], static_cast<int>(highest_lane(peers[g])));
      ranks[first + g] += before[g];
    }
  }
}

}  // namespace tessera::inline v1::sort::onesweep
