#pragma once
// The loops of verification, compiled once per instruction set.

#include <cstddef>
#include <cstdint>

#include "kernels/sort/key.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::sort {

/// The parameters derived from a seed; `factor` is odd. Hashes of 32-bit keys use the lower halves.
struct Salt {
  std::uint64_t flip = 0, factor = 1;
};

/// Rows, of which row j has `bytes` bytes at data + j * bytes and the index indices[j], or first +
/// j without indices.
struct IndexedRows {
  const std::byte* data = nullptr;
  index_t bytes = 0;
  index_t n = 0;
  const std::uint64_t* indices = nullptr;
  std::uint64_t first = 0;
};

/// Keys of rows, `step` bytes apart.
struct KeyRows {
  const std::byte* data = nullptr;
  index_t step = 0;
};

/// The equality of floating-point keys: by bits, or as numbers, where -0 equals +0 and all NaNs are
/// equal.
enum class Equality { of_bits, of_numbers };

struct Looked {
  std::uint64_t hash = 0;
  bool sorted = true;
};

/// hash: hashes raw[0:n]. look: hashes, and returns whether the bits never descend from `before` (a
/// raw key) through raw[0:n]. in_order: returns whether bits never descend (descending: ascend)
/// through raw[0:n], pairs by (key, index). hash_indexed: hashes every word of every row, with the
/// row's index and the word's place in it. add_row_hashes: sums[j] += the hashes of row j's words
/// with their places, the first of which is rows.first. digest_rows: computes two words for every
/// row, independent of its index, by two random keys for every 16 bytes of a row; plainly: without
/// special instructions.
///
/// Words of keys are unsigned numbers in the order of the rows: words[j], j in [0, n), of numbers
/// by the map, but with -0 as +0 and all NaNs alike if these are equal; or of the first `bytes` (at
/// most 8) of a string, each word exclusive-ored with `flip`. steps_down: returns how many of
/// words[0:n] are below the previous one, initially words[-1], among rows whose bit in `equal` is
/// set; clears the bit if the two differ. steps_not_up: returns how many are not above it.
#define TESSERA_SORT_VERIFY_KERNELS                                                             \
  std::uint64_t hash_keys32(const std::uint32_t* raw, index_t n, const Salt& salt);             \
  std::uint64_t hash_keys64(const std::uint64_t* raw, index_t n, const Salt& salt);             \
  bool keys_in_order32(const std::uint32_t* raw, index_t n, const KeyMap<std::uint32_t>& map,   \
                       Order order);                                                            \
  bool keys_in_order64(const std::uint64_t* raw, index_t n, const KeyMap<std::uint64_t>& map,   \
                       Order order);                                                            \
  bool pairs_in_order(const Pair* pairs, index_t n, Order order);                               \
  Looked look_at_keys32(const std::uint32_t* raw, index_t n, std::uint32_t before,              \
                        const KeyMap<std::uint32_t>& map, const Salt& salt);                    \
  std::uint64_t hash_indexed(const IndexedRows& rows, const Salt& salt);                        \
  void add_row_hashes(const IndexedRows& rows, const Salt& salt, std::uint64_t* sums);          \
  void digest_rows(const IndexedRows& rows, const std::uint64_t* keys, std::uint64_t* digests); \
  void digest_rows_plainly(const IndexedRows& rows, const std::uint64_t* keys,                  \
                           std::uint64_t* digests);                                             \
  void words_of_numbers32(const KeyRows& keys, index_t n, const KeyMap<std::uint32_t>& map,     \
                          Equality equality, std::uint64_t* words);                             \
  void words_of_numbers64(const KeyRows& keys, index_t n, const KeyMap<std::uint64_t>& map,     \
                          Equality equality, std::uint64_t* words);                             \
  void words_of_strings(const KeyRows& keys, index_t n, index_t bytes, std::uint64_t flip,      \
                        std::uint64_t* words);                                                  \
  index_t steps_down(const std::uint64_t* words, index_t n, unsigned char* equal);              \
  index_t steps_not_up(const std::uint64_t* words, index_t n, const unsigned char* equal);      \
  Looked look_at_keys64(const std::uint64_t* raw, index_t n, std::uint64_t before,              \
                        const KeyMap<std::uint64_t>& map, const Salt& salt)
namespace baseline {
TESSERA_SORT_VERIFY_KERNELS;
}
namespace bits256 {
TESSERA_SORT_VERIFY_KERNELS;
}
namespace bits512 {
TESSERA_SORT_VERIFY_KERNELS;
}
#undef TESSERA_SORT_VERIFY_KERNELS

}  // namespace tessera::inline v1::sort
