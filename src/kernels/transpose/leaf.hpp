#pragma once
// The base case of the recursion: one block of b = transpose(a) in vector registers, compiled per
// instruction set.

#include <cstddef>

#include "base/index.hpp"
#include "machine/isa.hpp"

namespace tessera::inline v1::transpose {

inline constexpr index_t line_bytes = 64;

enum class Store {
  cached,     ///< ordinary stores
  streaming,  ///< whole lines by streaming stores: b and b_stride are multiples of 64
  carried,    ///< whole lines by streaming stores, for rows of b at any offset in a line
  joined,     ///< as carried, where b has no gaps and its rows are whole and short (joins_rows)
};

/// The target of software prefetches of a; nothing: only the processor's prefetchers.
enum class Ahead { nothing, first_level, second_level };

/// Arguments of b[0:cols, 0:rows] = transpose(a[0:rows, 0:cols]); strides in bytes; records of 1,
/// 2, 4, 8 or 16 bytes.
struct Leaf {
  const std::byte* a;
  index_t a_stride;
  std::byte* b;
  index_t b_stride;
  index_t rows, cols;
  index_t bytes;
  Store store;
  index_t strip = index_t{1} << 40;  ///< columns of a strip; a multiple of line_bytes / bytes
  Ahead ahead = Ahead::first_level;
};

/// The width of the widest strip with carried lines.
inline constexpr index_t most_carried_columns = 1024;
[[nodiscard]] constexpr index_t carried_columns(index_t bytes) {
  return most_carried_columns - line_bytes / bytes;
}

/// Returns whether leaves of `rows` rows of a can be joined: at least a square, and at most as many
/// as the first-level cache holds together with an image of the same part of b. Where rows of b
/// exceed 320 bytes, most of their lines are stored in runs anyway (one core, GB/s, joined and
/// carried: Zen 5 f32 76 rows 31 and 28, 90 31 and 37, 100 30 and 37, f64 42 rows 37 and 45;
/// Emerald Rapids f32 76 to 101 rows 14 to 22 either way); squares of single bytes are stored by
/// lanes, of which every other one crosses a line (127 x 300000: 7 and 11).
inline constexpr index_t most_joined_rows = 128;
[[nodiscard]] constexpr bool joins_rows(index_t rows, index_t bytes) {
  return bytes > 1 && rows <= most_joined_rows && rows * bytes >= line_bytes &&
         rows * bytes <= 5 * line_bytes;
}

/// The blocks whose lines are prefetched; far: further ahead, into the second level.
enum class Prefetches { nothing, lower, both, both_far };

/// Arguments of a swap: upper[0:rows, 0:cols] and lower[0:cols, 0:rows] of one matrix; rows and
/// cols are multiples of line_bytes / bytes. upper == lower: a block on the diagonal.
struct Mirrored {
  std::byte* upper;
  std::byte* lower;
  index_t stride;  ///< bytes
  index_t rows, cols;
  index_t bytes;  ///< as in Leaf
  Prefetches prefetches = Prefetches::nothing;
};

/// A function that copies count bytes, whole lines of `to` by streaming stores. No overlap.
using StreamCopy = void(std::byte* to, const std::byte* from, index_t count);

/// The functions of one instruction set.
struct LeafSet {
  void (*transpose)(const Leaf& leaf);
  void (*swap)(const Mirrored& blocks);  ///< each becomes the transpose of the other
  StreamCopy* stream;
  void (*fence)();  ///< orders the thread's streaming stores before the store that publishes the
                    ///< result
};

namespace baseline {
extern const LeafSet leaf_set;
}
namespace bits256 {
extern const LeafSet leaf_set;
}
namespace bits512 {
extern const LeafSet leaf_set;
}

[[nodiscard]] const LeafSet& leaf_set(machine::Isa isa);

/// Returns the bytes from an address to the next line; 0 at the start of a line.
[[nodiscard]] inline index_t bytes_to_line(const std::byte* at) {
  return static_cast<index_t>(-reinterpret_cast<std::uintptr_t>(at) %
                              static_cast<std::uintptr_t>(line_bytes));
}

/// Returns whether a leaf moves records of this size in registers.
[[nodiscard]] constexpr bool has_leaf(index_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

}  // namespace tessera::inline v1::transpose
