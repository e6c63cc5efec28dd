#pragma once
// Mixing of 64-bit words: the seed of the random values and of every checksum. Always
// inlined, so that files of one instruction set may call them: no copy of theirs is emitted.

#include <cstdint>

#include "base/error.hpp"

namespace tessera {

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014; constants by Stafford): a bijection
/// that spreads every bit.
[[nodiscard, gnu::always_inline]] TESSERA_HD constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The hash of a word at a position. Summed mod 2^64 over all positions it is a checksum of an
/// array that does not depend on who computes which part.
[[nodiscard, gnu::always_inline]] TESSERA_HD constexpr std::uint64_t hash_at(
    std::uint64_t word, std::uint64_t position) {
  return mix64(word ^ mix64(position));
}

}  // namespace tessera
