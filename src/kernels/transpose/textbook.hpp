#pragma once
// The textbook variants for one size of record: `copy(to, from)` moves a record, or reports the
// move to a trace. Each moves m n records once.

#include "kernels/transpose/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::transpose {

/// Returns a function that calls copy(to, from) for element (i, j) of a.
template <class Copy>
[[nodiscard]] auto mover(const ConstRecords& a, const Records& b, const Copy& copy) {
  return [&](index_t i, index_t j) { copy(b.at(j, i), a.at(i, j)); };
}

/// Transposes row by row, as defined: reads are sequential, writes are strided.
template <class Copy>
void naive_walk(const ConstRecords& a, const Records& b, int threads, const Copy& copy) {
  const index_t share = ceil_div(std::max<index_t>(a.rows, 1), threads);
  machine::parallel(threads, [&] {
    machine::parallel_for(0, a.rows, share, [&](index_t begin, index_t end) {
      walk_rows({begin, 0, end - begin, a.cols}, mover(a, b, copy));
    });
  });
}

/// Transposes by square tiles: the lines that a tile writes stay cached until they are full.
template <class Copy>
void tiled_walk(const ConstRecords& a, const Records& b, const Tuning& tuning, int threads,
                const Copy& copy) {
  const index_t tiles = ceil_div(a.rows, tuning.tile) * ceil_div(a.cols, tuning.tile);
  const index_t share =
      ceil_div(std::max<index_t>(tiles, 1), 4 * threads);  // four pieces per thread limit load
                                                           // imbalance
  machine::parallel(threads, [&] {
    machine::parallel_for(0, tiles, share, [&](index_t begin, index_t end) {
      for (index_t position = begin; position < end; ++position)
        walk_rows(tile_at(position, a.rows, a.cols, tuning.tile, tuning.order), mover(a, b, copy));
    });
  });
}

/// Transposes by column-based iteration: a strip writes as many rows of b as it has columns, so
/// their partial lines fit the L1.
template <class Copy>
void column_walk(const ConstRecords& a, const Records& b, const Tuning& tuning, int threads,
                 const Copy& copy) {
  const index_t width = tuning.column_width;
  const index_t strips = ceil_div(a.cols, width);
  // Threads share the strips of a wide matrix; with fewer strips than threads they share rows.
  const index_t parts = strips >= threads ? 1 : threads;
  const index_t part = ceil_div(std::max<index_t>(a.rows, 1), parts);
  machine::parallel(threads, [&] {
    machine::parallel_for(0, strips * parts, 1, [&](index_t begin, index_t) {
      const index_t top = begin % parts * part;
      const index_t left = begin / parts * width;
      const Submatrix block{top, left, std::clamp<index_t>(a.rows - top, 0, part),
                            std::min(width, a.cols - left)};
      walk_columns(block, width, mover(a, b, copy));
    });
  });
}

/// Transposes by the recursion of the theorem (Frigo et al. 1999), which halves the longer side
/// down to squares of the tile's edge. both(left, right) runs two halves.
template <class Copy, class Both>
void recursive_walk(const ConstRecords& a, const Records& b, const Tuning& tuning, const Copy& copy,
                    const Both& both) {
  const auto visit = [&](const Submatrix& block) { walk_rows(block, mover(a, b, copy)); };
  walk_halves({0, 0, a.rows, a.cols}, {tuning.tile, tuning.tile}, visit, both);
}

}  // namespace tessera::inline v1::transpose
