#pragma once
// The recursion of cache_oblivious for any set of leaf kernels: those of the instruction sets, or one that
// reports its loads and stores. both(block, left, right) runs the halves of a block.

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/records.hpp"
#include "kernels/transpose/walks.hpp"

namespace tessera::transpose {

// Up to here ordinary stores: a result and its source of 1 MiB stay in most second-level caches, where the
// next reader finds them; streaming would send them to memory. Larger ones are streamed: with ordinary stores
// n = 1000 in f64 took four times as long on Sapphire Rapids, and was no faster on Zen 5.
inline constexpr index_t cached_bytes = index_t{1} << 20;

// Bytes of a row of a that a strip walks along: long runs keep the prefetchers of a busy. Measured on Zen 5
// with f32 and f64 at n = 4000, 4096, 8000 and 8192, between 2048 and 65536: from 16384 on within 5 % of the
// best.
[[nodiscard]] constexpr index_t strip_bytes(index_t record) { return record < 4 ? 4096 : 16384; }

/// Wide bands, so that a strip mostly goes on where the last one ended. Where lines are carried from panel to
/// panel, tall ones instead: the two at the ends of a leaf are not whole, in every row of b.
inline LeafShape largest_leaf(Store store) {
  return store == Store::carried ? LeafShape{1536, 960} : LeafShape{192, 8192};
}

/// Taller leaves of narrow matrices, for a leaf ends with a fence; smaller ones until every thread has about
/// four.
inline LeafShape leaf_shape(const ConstRecords& a, Store store, int threads) {
  LeafShape shape = largest_leaf(store);
  const index_t least_rows = 192;
  while (shape.cols >= 2 * a.cols && shape.cols > 64) shape = {2 * shape.rows, shape.cols / 2};
  const auto leaves = [&] { return ceil_div(a.rows, shape.rows) * ceil_div(a.cols, shape.cols); };
  while (leaves() < 4 * threads && shape.cols > 256) shape.cols /= 2;
  while (leaves() < 4 * threads && shape.rows > least_rows) shape.rows /= 2;
  return shape;
}

template <class Both>
void transpose_leaves(const ConstRecords& a, const Records& b, Store store, int threads, const LeafSet& set,
                      const Both& both) {
  const index_t strip = strip_bytes(a.bytes) / a.bytes;
  const auto visit = [&](const Block& block) {
    set.transpose({a.at(block.i, block.j), a.stride(), b.at(block.j, block.i), b.stride(), block.rows,
                   block.cols, a.bytes, store, strip});
    if (store != Store::cached) set.fence();
  };
  walk_halves({0, 0, a.rows, a.cols}, leaf_shape(a, store, threads), visit, both);
}

/// Whole lines of b begin after the same few elements in every row: those by ordinary stores, the rest
/// streamed.
template <class Both>
void transpose_streaming(const ConstRecords& a, const Records& b, index_t lead, int threads,
                         const LeafSet& set, const Both& both) {
  transpose_leaves(a.block(0, 0, lead, a.cols), b.block(0, 0, a.cols, lead), Store::cached, threads, set,
                   both);
  transpose_leaves(a.block(lead, 0, a.rows - lead, a.cols), b.block(0, lead, a.cols, a.rows - lead),
                   Store::streaming, threads, set, both);
}

/// Whether b begins lines after the same few elements in every row, so that the rest can be streamed.
[[nodiscard]] inline bool rows_meet_lines(const Records& b) {
  return b.stride() % line_bytes == 0 && bytes_to_line(b.data) % b.bytes == 0;
}

/// The ways of records with a leaf whose results stay in cache or are streamed.
template <class Both>
void transpose_by_leaves(const ConstRecords& a, const Records& b, int threads, const LeafSet& set,
                         const Both& both) {
  if (a.rows * a.cols * a.bytes <= cached_bytes) {
    transpose_leaves(a, b, Store::cached, threads, set, both);
  } else {
    transpose_streaming(a, b, std::min(a.rows, bytes_to_line(b.data) / b.bytes), threads, set, both);
  }
}

}  // namespace tessera::transpose
