#pragma once
// What a rank packs, sends, copies and unpacks in a relayout: arithmetic only. Private to this
// folder.

#include <vector>

#include "dist/relayout/relayout.hpp"

namespace tessera::inline v1::dist::relayout {

using tessera::relayout::Stretch;
using tessera::relayout::Turn;

/// The blocks that a local array of one rank has in common with an array of another, in rows and
/// columns of the target as it is stored.
struct Piece {
  std::size_t matrix = 0;
  index_t a_array = 0, b_array = 0;
  std::vector<Stretch> rows, cols;
  index_t packed_rows = 0, packed_cols = 0;
  index_t offset = 0;  ///< in the message, in elements
  [[nodiscard]] index_t elements() const { return packed_rows * packed_cols; }
};

/// A rank and the pieces that go to it, or come from it, in the order of the message.
struct Exchange {
  index_t peer = 0;
  std::vector<Piece> pieces;
  index_t elements = 0;
};

/// The part of one rank.
struct Schedule {
  std::vector<Exchange> out, in;  ///< without the rank itself and without empty messages, in the
                                  ///< order of the phases of a rotation
  Exchange local;
};

/// A relayout in terms of rows and columns of the target as it is stored: row-major on both sides.
struct Stored {
  layout::Distribution a, b;
  Turn turn = Turn::no;  ///< of the local blocks of a
};
[[nodiscard]] Stored stored(const Relayout& matrix);

/// Returns the schedule of `rank`.
[[nodiscard]] Schedule make_schedule(const std::vector<Stored>& matrices, index_t rank,
                                     index_t ranks);

}  // namespace tessera::inline v1::dist::relayout
