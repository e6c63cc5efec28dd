#pragma once
// Moves of many blocks between arrays in device memory.

#include "kernels/relayout/move_blocks.hpp"
#include "machine/device.hpp"

namespace tessera::inline v1::relayout {

/// Indices of one dimension on both sides, in the memory of the blocks: of n that follow each other
/// in the message.
struct Indices {
  const index_t* from = nullptr;
  const index_t* to = nullptr;
  index_t n = 0;
};

/// The blocks of a BlockMove with one index a row and a column: element (rows.to[i], cols.to[j]) of
/// `to` is (rows.from[i], cols.from[j]) of `from`, or with Turn::yes (cols.from[j], rows.from[i]).
/// Arrays are aligned to the largest power of two that divides an element (16 at most) or the part
/// of a complex number.
struct IndexedMove {
  Indices rows, cols;
  Array<const std::byte> from;
  Array<std::byte> to;
  Turn turn = Turn::no;
};

/// Computes to = alpha * from + beta * to for all elements. from and to do not overlap.
using MoveIndexed = void(const IndexedMove& move, const ElementKind& kind, const Factors& factors,
                         machine::device::StreamHandle stream);
/// On the host, whose memory emulates a device: at once.
MoveIndexed move_indexed;
/// On the device.
MoveIndexed cuda_move_indexed;
using DeviceMove = MoveIndexed*;
/// Returns cuda_move_indexed; without a GPU move_indexed.
[[nodiscard]] DeviceMove device_move();

}  // namespace tessera::inline v1::relayout
