#pragma once
// The checksum of a dataset: the sum modulo 2^64 of a hash of every element's bits and its
// position. Any split of the data gives the same sum, so every rank adds up its own part.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/index.hpp"

namespace tessera::io {

/// What consecutive elements of element_bytes each contribute, the first of them at global position
/// first_element. Elements of 2 to 8 bytes enter as hash_at(bits, position); longer ones word by
/// word, chained. Single bytes enter as the 32-bit words of the whole dataset that they are in,
/// each multiplied by a number of its place (multilinear hashing; Carter and Wegman 1979): a split
/// may lie inside of a word. One word that changes is always noticed, of others all but one change
/// in some 2^33.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> data, index_t element_bytes,
                                     index_t first_element);

/// As outputs of version 1 have it: of single bytes, too, the sum of hash_at(byte, position).
[[nodiscard]] std::uint64_t checksum_version1(std::span<const std::byte> data,
                                              index_t element_bytes, index_t first_element);

[[nodiscard]] std::string checksum_text(std::uint64_t sum);  ///< 16 hexadecimal digits

}  // namespace tessera::io
