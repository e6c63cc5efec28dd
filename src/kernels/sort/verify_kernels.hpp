#pragma once
// The loops of verification, compiled once for each instruction set.

#include <cstddef>
#include <cstdint>

#include "kernels/sort/key.hpp"
#include "machine/isa.hpp"

namespace tessera::sort {

/// Of a seed; `factor` is odd. Hashes of keys of 32 bits take the lower halves.
struct Salt {
  std::uint64_t flip = 0, factor = 1;
};

/// Row j has `bytes` bytes at data + j * bytes, and is known as indices[j], or as first + j without
/// indices.
struct IndexedRows {
  const std::byte* data = nullptr;
  index_t bytes = 0;
  index_t n = 0;
  const std::uint64_t* indices = nullptr;
  std::uint64_t first = 0;
};

/// Keys of rows: `step` bytes from one to the next.
struct KeyRows {
  const std::byte* data = nullptr;
  index_t step = 0;
};

/// Which floating-point keys are equal: those of the same bits, or all that are equal as numbers,
/// -0 and +0, and all NaNs too.
enum class Equality { of_bits, of_numbers };

struct Looked {
  std::uint64_t hash = 0;
  bool sorted = true;
};

/// hash: of raw[0:n]. look: that, and whether the bits never go down from `before` (a raw key)
/// through raw[0:n]. in_order: whether bits never go down (descending: up) through raw[0:n], pairs
/// by (key, index). hash_indexed: of every word of every row, with the row's index and the word's
/// place in it. add_row_hashes: sums[j] += those of row j's words with their places, the first of
/// which is rows.first. digest_rows: two words for every row, whatever its index, by two random
/// keys for every 16 bytes of a row; plainly: without what processors have for it.
///
/// Words of keys, unsigned numbers in the order of the rows: words[j], j in [0, n), of numbers as
/// the map says, but -0 as +0 and every NaN as every other where these are equal; or of the first
/// `bytes` (at most 8) of a string, each word exclusive-ored with `flip`. steps_down: how many of
/// words[0:n] are below the one before, words[-1] at first, of rows whose bit in `equal` is set;
/// which is cleared where the two differ. steps_not_up: how many are not above it.
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
namespace avx2 {
TESSERA_SORT_VERIFY_KERNELS;
}
namespace avx512 {
TESSERA_SORT_VERIFY_KERNELS;
}
#undef TESSERA_SORT_VERIFY_KERNELS

}  // namespace tessera::sort
