// Overlays two distributions: the blocks that two parts have in common are the product of common
// row stretches and common column stretches.

#include "dist/relayout/schedule.hpp"

#include <algorithm>

namespace tessera::inline v1::dist::relayout {
namespace {

using layout::Distribution;
using layout::Segments;

[[nodiscard]] layout::Range span_of(const Segments& segments) {
  if (segments.empty()) return {};
  return {segments.front().global.begin, segments.back().global.end};
}

[[nodiscard]] std::vector<Stretch> common(const Segments& from, const Segments& to, index_t most) {
  std::vector<layout::Common> stretches;
  layout::append_common(from, to, most, stretches);
  std::vector<Stretch> result;
  result.reserve(stretches.size());
  for (const auto& [size, a, b] : stretches) result.push_back({size, a, b});
  return result;
}

[[nodiscard]] index_t total(const std::vector<Stretch>& stretches) {
  index_t sum = 0;
  for (const Stretch& stretch : stretches) sum += stretch.size;
  return sum;
}

/// Appends the blocks of two parts.
void add_piece(const std::vector<Stored>& matrices, std::size_t matrix, const Distribution::Part& a,
               const Distribution::Part& b, Exchange& exchange) {
  const auto& [from, to, turn] = matrices[matrix];
  const Segments &a_rows = from.row_segments(a), &b_rows = to.row_segments(b);
  const Segments &a_cols = from.col_segments(a), &b_cols = to.col_segments(b);
  if (intersect(span_of(a_rows), span_of(b_rows)).empty() ||
      intersect(span_of(a_cols), span_of(b_cols)).empty())
    return;
  Piece piece{matrix, a.array, b.array, common(a_rows, b_rows, tessera::relayout::most_rows),
              {},     0,       0,       exchange.elements};
  if (piece.rows.empty()) return;
  piece.cols = common(a_cols, b_cols, tessera::relayout::most_cols);
  piece.packed_rows = total(piece.rows);
  piece.packed_cols = total(piece.cols);
  if (piece.cols.empty()) return;
  exchange.elements += piece.elements();
  exchange.pieces.push_back(std::move(piece));
}

[[nodiscard]] std::vector<Distribution::Part> parts_of(const Distribution& x, index_t rank) {
  std::vector<Distribution::Part> result;
  std::copy_if(x.parts().begin(), x.parts().end(), std::back_inserter(result),
               [&](const Distribution::Part& part) { return part.rank == rank; });
  return result;
}

/// Returns the exchanges by peer. The pieces of a pair of ranks have the same order on both: by
/// part of a, then by part of b.
[[nodiscard]] std::vector<Exchange> outgoing(const std::vector<Stored>& matrices, index_t rank,
                                             index_t ranks) {
  std::vector<Exchange> result(static_cast<std::size_t>(ranks));
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    for (const Distribution::Part& a : parts_of(matrices[m].a, rank)) {
      for (const Distribution::Part& b : matrices[m].b.parts()) {
        if (!a.replica) add_piece(matrices, m, a, b, result[static_cast<std::size_t>(b.rank)]);
      }
    }
  }
  return result;
}
[[nodiscard]] std::vector<Exchange> incoming(const std::vector<Stored>& matrices, index_t rank,
                                             index_t ranks) {
  std::vector<Exchange> result(static_cast<std::size_t>(ranks));
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    const std::vector<Distribution::Part> mine = parts_of(matrices[m].b, rank);
    for (const Distribution::Part& a : matrices[m].a.parts()) {
      for (const Distribution::Part& b : mine) {
        if (!a.replica && a.rank != rank)
          add_piece(matrices, m, a, b, result[static_cast<std::size_t>(a.rank)]);
      }
    }
  }
  return result;
}

/// Moves the exchanges of other ranks that have any elements into the order of a rotation.
[[nodiscard]] std::vector<Exchange> rotated(std::vector<Exchange> by_peer, index_t rank,
                                            index_t step) {
  const auto ranks = static_cast<index_t>(by_peer.size());
  std::vector<Exchange> result;
  for (index_t phase = 1; phase < ranks; ++phase) {
    const index_t peer = (rank + (step > 0 ? phase : ranks - phase)) % ranks;
    Exchange& exchange = by_peer[static_cast<std::size_t>(peer)];
    exchange.peer = peer;
    if (exchange.elements > 0) result.push_back(std::move(exchange));
  }
  return result;
}

}  // namespace

Stored stored(const Relayout& matrix) {
  const bool turns_b = matrix.b_order == StorageOrder::column_major;
  // In terms of b as it is stored, a is transposed once for op and once for the order of b.
  const bool turns_a = turns(matrix.op) != turns_b;
  const bool a_is_turned = matrix.a_order == StorageOrder::column_major;
  return {turns_a ? matrix.a.transposed() : matrix.a, turns_b ? matrix.b.transposed() : matrix.b,
          turns_a != a_is_turned ? Turn::yes : Turn::no};
}

Schedule make_schedule(const std::vector<Stored>& matrices, index_t rank, index_t ranks) {
  std::vector<Exchange> out = outgoing(matrices, rank, ranks);
  Exchange local = std::move(out[static_cast<std::size_t>(rank)]);
  local.peer = rank;
  return {rotated(std::move(out), rank, 1), rotated(incoming(matrices, rank, ranks), rank, -1),
          std::move(local)};
}

}  // namespace tessera::inline v1::dist::relayout
