#pragma once
// The recursion of cache_oblivious for any set of leaf kernels: those of the instruction sets, or one that
// reports its loads and stores. both(block, left, right) runs the halves of a block.

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/records.hpp"
#include "kernels/transpose/walks.hpp"
#include "machine/topology.hpp"

namespace tessera::transpose {

/// Whether rows at such a stride share few sets of a first-level cache.
[[nodiscard]] constexpr bool rows_share_sets(index_t stride) { return stride % 1024 == 0; }

/// Whether ordinary stores pay: the result is left where its next reader finds it, and lines that a cache
/// holds need not leave it. A result and its source of 1 MiB stay in most second-level caches; larger ones
/// where the last cache takes what those give up and a quarter of it holds both, with what lies between their
/// rows (n = 1000 in f32, one core of Zen 5: 99 GB/s, streamed 64). Half of it is not always there where
/// other cores work, too (n = 1000 in f64: alone on Zen 5 100, streamed 73; a guest's core of Zen 4 20 to 42,
/// streamed 45), and what is not there takes twice as long. On Sapphire Rapids n = 1000 in f64 took four
/// times as long with ordinary stores.
[[nodiscard]] inline bool stays_in_cache(index_t bytes, index_t span) {
  if (bytes <= index_t{1} << 20) return true;
  const machine::Caches caches = machine::caches();
  return caches.l3_takes_evicted && span <= caches.l3 / 4;
}
[[nodiscard]] inline bool stays_in_cache(const ConstRecords& a, const Records& b) {
  const index_t bytes = a.rows * a.cols * a.bytes;
  if (bytes > index_t{1} << 20 && rows_share_sets(b.stride())) return false;
  return stays_in_cache(bytes, a.rows * a.stride() + b.rows * b.stride());
}

/// The largest leaves, and the columns of a that a strip of theirs walks along.
struct Walk {
  LeafShape leaf;
  index_t strip;
};

/// Long strips keep the prefetchers of a busy: measured on Zen 5 with f32 and f64 at n = 4000, 4096, 8000 and
/// 8192, between 2048 and 65536 bytes of a row, from 16384 on within 5 % of the best. Wide leaves, so that a
/// strip mostly goes on where the last one ended. Where lines are carried from panel to panel, tall ones
/// instead: the two at the ends of a leaf are not whole, in every row of b. In the cache 64 rows of b at a
/// time, which the first level of the TLB knows; f32 whose rows of b share sets of the second one, 256.
[[nodiscard]] inline Walk walk_of(Store store, const Records& b) {
  if (store == Store::cached) return {{1536, 8192}, 64};
  const index_t strip = (b.bytes < 4 ? 4096 : 16384) / b.bytes;
  if (store == Store::carried) return {{1536, 960}, strip};
  const bool shares_sets = b.bytes == 4 && b.stride() % 4096 == 0;
  return {{std::max<index_t>(192, 1536 / b.bytes), 8192}, shares_sets ? 256 : strip};
}

/// Taller leaves of narrow matrices, for a leaf ends with a fence; smaller ones until every thread has about
/// four.
inline LeafShape leaf_shape(const ConstRecords& a, LeafShape shape, int threads) {
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
  const Walk walk = walk_of(store, b);
  const auto visit = [&](const Block& block) {
    set.transpose({a.at(block.i, block.j), a.stride(), b.at(block.j, block.i), b.stride(), block.rows,
                   block.cols, a.bytes, store, walk.strip});
    if (store != Store::cached) set.fence();
  };
  walk_halves({0, 0, a.rows, a.cols}, leaf_shape(a, walk.leaf, threads), visit, both);
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
  if (stays_in_cache(a, b)) {
    transpose_leaves(a, b, Store::cached, threads, set, both);
  } else {
    transpose_streaming(a, b, std::min(a.rows, bytes_to_line(b.data) / b.bytes), threads, set, both);
  }
}

}  // namespace tessera::transpose
