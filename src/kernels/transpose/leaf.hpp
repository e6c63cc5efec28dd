#pragma once
// The base case of the recursion: one block of b = transpose(a), in vector registers, compiled per
// instruction set.

#include <cstddef>

#include "base/index.hpp"
#include "machine/isa.hpp"

namespace tessera::transpose {

inline constexpr index_t line_bytes = 64;

enum class Store {
  cached,     ///< ordinary stores
  streaming,  ///< whole lines past the caches: b and b_stride are multiples of 64
  carried,    ///< whole lines past the caches, wherever rows of b begin
};

/// b[0:cols, 0:rows] = transpose(a[0:rows, 0:cols]); strides in bytes; records of 1, 2, 4, 8 or 16 bytes.
struct Leaf {
  const std::byte* a;
  index_t a_stride;
  std::byte* b;
  index_t b_stride;
  index_t rows, cols;
  index_t bytes;
  Store store;
  index_t strip =
      index_t{1} << 40;  ///< columns of a that are walked together; a multiple of line_bytes / bytes
};

/// count bytes from one place to another, whole lines of `to` by streaming stores. No overlap.
using StreamCopy = void(std::byte* to, const std::byte* from, index_t count);

/// The functions of one instruction set.
struct LeafSet {
  void (*transpose)(const Leaf& leaf);
  StreamCopy* stream;
  void (*fence)();  ///< orders the thread's streaming stores before whatever publishes the result
};

namespace baseline {
extern const LeafSet leaf_set;
}
namespace avx2 {
extern const LeafSet leaf_set;
}
namespace avx512 {
extern const LeafSet leaf_set;
}

[[nodiscard]] const LeafSet& leaf_set(machine::Isa isa);

/// Bytes from an address to the next one on a line: 0 on a line.
[[nodiscard]] inline index_t bytes_to_line(const std::byte* at) {
  return static_cast<index_t>(-reinterpret_cast<std::uintptr_t>(at) %
                              static_cast<std::uintptr_t>(line_bytes));
}

/// The record sizes that a leaf moves in registers.
[[nodiscard]] constexpr bool has_leaf(index_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

}  // namespace tessera::transpose
