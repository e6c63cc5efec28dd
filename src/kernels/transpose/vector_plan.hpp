#pragma once
// How the vectorised device kernel goes about a transpose: it chooses itself, a bench tries all.

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/records.hpp"
#include "kernels/transpose/swizzle.hpp"

namespace tessera::transpose {

struct VectorPlan {
  enum class Size { small, large };
  Size size = Size::large;
  int stages = 1;  ///< tiles in flight a block: 1 (a block a tile), or 2 or 3 (blocks stay for many)
  TileWalk walk = TileWalk::columns;
  Store store = Store::streaming;
  int repeats = 1;  ///< of the whole, inside the kernel
  friend bool operator==(const VectorPlan&, const VectorPlan&) = default;
};

/// Bytes of a row of a tile: at least 128 on either side, so that whole lines are read and written.
[[nodiscard]] constexpr int tile_segment(int bytes, VectorPlan::Size size) {
  const int small = bytes <= 4 ? 128 : 256;
  return size == VectorPlan::Size::small ? small : 2 * small;
}
/// Its side in records.
[[nodiscard]] constexpr index_t tile_edge(index_t bytes, VectorPlan::Size size) {
  return tile_segment(static_cast<int>(bytes), size) / bytes;
}

/// Whether rows begin on 16 bytes, so that they can be moved by vectors.
template <class Byte>
[[nodiscard]] bool rows_on_vectors(const RecordView<Byte>& x) {
  return x.stride() % 16 == 0 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

/// On an H200, of a device copy: down the columns, so that rows of b grow in one go, 0.96 and 0.98 of it for
/// 4 and 8 bytes at 8192 x 8192 (along rows 0.93 and 0.94); more stages than one are never faster.
[[nodiscard]] inline VectorPlan vector_plan(const ConstRecords& a, const Records& b, int multiprocessors) {
  VectorPlan plan;
  const index_t edge = tile_edge(a.bytes, VectorPlan::Size::large);
  // Fewer large tiles than a few for each multiprocessor leave some without work at the end.
  const bool few = ceil_div(a.rows, edge) * ceil_div(a.cols, edge) < index_t{8} * multiprocessors;
  if (few || (a.bytes == 8 && rows_on_vectors(a) && rows_on_vectors(b))) plan.size = VectorPlan::Size::small;
  return plan;
}

}  // namespace tessera::transpose
