#pragma once
// The checksum of a dataset: the sum modulo 2^64 of a hash of every element's bits and its
// position. It does not depend on the split of the data, so every rank sums its own part.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/index.hpp"

namespace tessera::inline v1::io {

/// Returns the contribution of consecutive elements of element_bytes each, the first at global
/// position first_element. Elements of 2 to 8 bytes enter as hash_at(bits, position); longer ones
/// word by word, chained. Single bytes enter as the 32-bit words of the whole dataset that contain
/// them, each multiplied by a factor for its position (multilinear hashing; Carter and Wegman
/// 1979), so that a split may be inside a word. A change of one word is always detected; of other
/// changes, all but one in about 2^33.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> data, index_t element_bytes,
                                     index_t first_element);

/// Returns the contribution to checksums of version 1, in which single bytes enter as hash_at(byte,
/// position), too.
[[nodiscard]] std::uint64_t checksum_version1(std::span<const std::byte> data,
                                              index_t element_bytes, index_t first_element);

[[nodiscard]] std::string checksum_text(std::uint64_t sum);  ///< 16 hexadecimal digits

}  // namespace tessera::inline v1::io
