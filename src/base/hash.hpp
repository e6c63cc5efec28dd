#pragma once
// Mixing of 64-bit words for random values and checksums. Always inlined, so that no copy compiled
// for one instruction set is emitted and linked elsewhere.

#include <cstdint>

#include "base/error.hpp"

namespace tessera::inline v1 {

/// Applies the finaliser of splitmix64 (Steele, Lea and Flood 2014; constants by Stafford): a
/// bijection with full avalanche.
[[nodiscard, gnu::always_inline]] TESSERA_HD constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Returns the hash of a word at a position. The sum mod 2^64 over all positions is a checksum of
/// an array that is independent of its distribution.
[[nodiscard, gnu::always_inline]] TESSERA_HD constexpr std::uint64_t hash_at(
    std::uint64_t word, std::uint64_t position) {
  return mix64(word ^ mix64(position));
}

}  // namespace tessera::inline v1
