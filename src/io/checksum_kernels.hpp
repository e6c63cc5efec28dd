#pragma once
// The loops of checksums, compiled once for each instruction set.

#include <cstddef>
#include <cstdint>

#include "base/index.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::io {

inline constexpr index_t block_bytes = 512;  // the words of a block have a table of factors

/// Return the sum of hash_at (base/hash.hpp) of `count` consecutive words of 2, 4 or 8 bytes, the
/// first at `position`; of `count` elements of more than 8 bytes, folded word by word; and of the
/// 4-byte words of `count` blocks of block_bytes, each multiplied by a factor for its place in the
/// block and one for the block.
#define TESSERA_IO_CHECKSUM_KERNELS                                                            \
  std::uint64_t sum_of_long(const std::byte* elements, index_t bytes, index_t count,           \
                            std::uint64_t position);                                           \
  std::uint64_t sum_of_blocks(const std::byte* blocks, index_t count, std::uint64_t position); \
  std::uint64_t sum_of_words16(const std::byte* words, index_t count, std::uint64_t position); \
  std::uint64_t sum_of_words32(const std::byte* words, index_t count, std::uint64_t position); \
  std::uint64_t sum_of_words64(const std::byte* words, index_t count, std::uint64_t position)
namespace baseline {
TESSERA_IO_CHECKSUM_KERNELS;
}
namespace bits256 {
TESSERA_IO_CHECKSUM_KERNELS;
}
namespace bits512 {
TESSERA_IO_CHECKSUM_KERNELS;
}
#undef TESSERA_IO_CHECKSUM_KERNELS

}  // namespace tessera::inline v1::io
