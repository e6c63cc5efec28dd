#pragma once
// The sizes of the fast product's pieces, and a chunk of its operands. Only for product.hpp.

#include "base/index.hpp"

namespace tessera::inline v1::matmul {

// A leaf of C. Its panels of B (512 x 96 doubles: 393 KB) stream past every sliver of A. Rows of A
// (786 KB) are reused by the adjacent tile: with 384 two threads lose 1 to 2 %.
inline constexpr index_t tile_rows = 192;
template <class T>
inline constexpr index_t tile_columns = 768 / static_cast<index_t>(sizeof(T));
// Columns of a slim product, which reads every row of A once, unpacked, against all of a packed
// chunk of B (512 x 256 doubles: 1 MiB).
template <class T>
inline constexpr index_t slim = 2048 / static_cast<index_t>(sizeof(T));
// Threads that share the columns and rows of such a small C synchronise twice per chunk; the leaves
// of k are shared instead if there are enough of them for little load imbalance at the end.
inline constexpr index_t small_c_bytes = index_t{1} << 20, many_leaves = 8;
// Operands are read unpacked if at most this many rows or columns would share a packed copy.
inline constexpr index_t direct = 128;
// A C of this size is evicted from the caches before its first reuse.
inline constexpr index_t past_caches_bytes = index_t{32} << 20;
// More rows than this are read from memory, once; with packed B the next ones are prefetched during
// the current ones.
inline constexpr index_t tallest_in_place = 1200;
// The largest packed operand or partial C; larger products are halved. Bounds the working memory.
inline constexpr index_t working_bytes = index_t{64} << 20;

/// The parallel decomposition: which forks become tasks.
enum class Share {
  nothing,  ///< one thread
  c,        ///< the team shares each chunk: packs together, then computes tiles of C
  k,        ///< C is small: the leaves of k are tasks, each with a private partial C
};

/// One chunk of both operands in the layout that the leaf reads.
template <class T>
struct Chunk {
  index_t k;
  index_t k_next;  ///< length of the next chunk
  const T* a;
  index_t a_row, a_step, a_sliver;
  const T* b;
  index_t b_step, b_panel;
  const T* a_next = nullptr;  ///< the next chunk's operands, prefetched at the end of this one
  const T* b_next = nullptr;
};

}  // namespace tessera::inline v1::matmul
