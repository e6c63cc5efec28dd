#pragma once
// The recursion of cache_oblivious for any set of leaf kernels: those of the instruction sets, or a
// traced set that reports its loads and stores. walk(block, leaf, visit) visits the leaves of a
// block (walks.hpp).

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/records.hpp"
#include "kernels/transpose/walks.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::transpose {

/// Returns whether rows at this stride share few sets of a first-level cache.
[[nodiscard]] constexpr bool rows_share_sets(index_t stride) { return stride % 1024 == 0; }

/// Returns whether ordinary stores pay off: the result stays cached for its next reader, and cached
/// lines need no eviction. Source and result of 1 MiB each stay in most second-level caches. Larger
/// ones stay where the last-level cache is a victim cache and a quarter of it holds both, including
/// the gaps between their rows (n = 1000 in f32, one core of Zen 5: 99 GB/s, streamed 64). Half of
/// it is not always available when other cores are active (n = 1000 in f64: alone on Zen 5 100,
/// streamed 73; a guest's core of Zen 4 20 to 42, streamed 45), and misses take twice as long. On
/// Sapphire Rapids n = 1000 in f64 took four times as long with ordinary stores.
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

/// The largest leaves, and the width in columns of a of the strips within them.
struct Walk {
  LeafShape leaf;
  index_t strip;
  Ahead ahead = Ahead::first_level;
};

/// Returns whether the second-level cache has at least 2 MiB: Intel's servers.
[[nodiscard]] inline bool has_large_second_level() {
  return machine::caches().l2 >= index_t{2} << 20;
}

/// Returns the prefetch target. No software prefetch where the prefetchers of a processor with a
/// large second level follow the rows of a panel, up to 32, each in a separate page: prefetches
/// probably wait for the buffers through which streaming stores drain (Emerald Rapids, one core,
/// GB/s, prefetched 512 bytes ahead and not at all; 128 to 8192 bytes are as bad: f64 8000 x 8000
/// 22.0 and 24.7, 8192 x 8192 21.5 and 24.1, f32 8192 x 8192 20.8 and 23.2). Rows that share pages
/// (f64 100000 x 100 23.0 and 20.7), more rows (u16 8000 x 8000 16.3 and 14.3) and carried rows
/// (f32 8001 x 8001 21.5 and 19.2) need it. Into the second level where the first is small (Zen 4,
/// one core, first and second level: f32 4000 x 4000 28 and 32, 100000 x 100 19 and 29, carried
/// 8001 x 8001 22 and 32, f64 100000 x 100 23 and 32, u16 8000 x 8000 17 and 35, u8 16000 x 16000
/// 14 and 24). Zen 5, with 48 KiB, is up to a quarter faster with the first (f32 4096 x 4096 40 and
/// 37, 100000 x 100 46 and 45).
[[nodiscard]] inline Ahead ahead_of(Store store, const ConstRecords& a) {
  if (machine::has_small_first_level()) return Ahead::second_level;
  return store != Store::streaming || a.bytes < 4 || a.stride() < 4096 || !has_large_second_level()
             ? Ahead::first_level
             : Ahead::nothing;
}

/// Returns leaf and strip sizes. Long strips keep the prefetchers of a busy: measured on Zen 5 with
/// f32 and f64 at n = 4000, 4096, 8000 and 8192, between 2048 and 65536 bytes of a row, from 16384
/// on within 5 % of the best. Leaves are wide, so that a strip mostly continues the previous one.
/// Where lines are carried from panel to panel, leaves have all rows of a: the lines at the two
/// ends of a leaf are partial in every row of b (Emerald Rapids, f32 8001 x 8000, of 1536 and of
/// all rows, 20.6 and 22.6 GB/s). In the cache a leaf spans 64 rows of b, which the first-level TLB
/// covers.
[[nodiscard]] inline Walk walk_of(Store store, const ConstRecords& a, const Records& b) {
  if (store == Store::cached) return {{1536, 8192}, 64};
  const index_t strip = (b.bytes < 4 ? 4096 : 16384) / b.bytes;
  const Ahead ahead = ahead_of(store, a);
  if (store == Store::carried) return {{a.rows, carried_columns(b.bytes)}, strip, ahead};
  if (store == Store::joined) return {{a.rows, 8192}, strip};
  return {{std::max<index_t>(192, 1536 / b.bytes), 8192}, strip, ahead};
}

/// Returns the length of nearly equal leaves, a multiple of `grain` and at most `most`, such that
/// all threads have equally many.
inline index_t even_length(index_t length, index_t most, int threads, index_t grain) {
  const index_t parts = ceil_div(length, most);
  return parts <= 1 ? most : round_up(ceil_div(length, round_up(parts, threads)), grain);
}

/// Returns the shape of leaves: taller for narrow matrices, because a leaf ends with a fence;
/// smaller until every one of several threads has about four, or one if those were less than 2 MiB:
/// streamed leaves first narrower, then lower; leaves with all rows of a narrower.
inline LeafShape leaf_shape(const ConstRecords& a, LeafShape shape, int threads) {
  const index_t least_rows = 192;
  const index_t least_leaves = threads == 1 ? 1
                                            : std::clamp<index_t>(a.rows * a.cols * a.bytes >> 21,
                                                                  threads, index_t{4} * threads);
  const auto leaves = [&] { return ceil_div(a.rows, shape.rows) * ceil_div(a.cols, shape.cols); };
  const bool all_rows = shape.rows >= a.rows;
  while (shape.cols >= 2 * a.cols && shape.cols > 64) shape = {2 * shape.rows, shape.cols / 2};
  while (leaves() < least_leaves && shape.cols > (all_rows ? 128 : 256)) shape.cols /= 2;
  while (leaves() < least_leaves && shape.rows > least_rows) shape.rows /= 2;
  return {even_length(a.rows, shape.rows, threads, least_rows),
          even_length(a.cols, shape.cols, threads, line_bytes / a.bytes)};
}

template <class Walks>
void transpose_leaves(const ConstRecords& a, const Records& b, Store store, int threads,
                      const LeafSet& set, const Walks& walk) {
  const Walk chosen = walk_of(store, a, b);
  const auto visit = [&](const Submatrix& block) {
    set.transpose({a.at(block.i, block.j), a.stride(), b.at(block.j, block.i), b.stride(),
                   block.rows, block.cols, a.bytes, store, chosen.strip, chosen.ahead});
    if (store != Store::cached) set.fence();
  };
  walk({0, 0, a.rows, a.cols}, leaf_shape(a, chosen.leaf, threads), visit);
}

/// Transposes with streaming stores. Whole lines of b begin `lead` elements into every row: the
/// elements before them use ordinary stores, the rest is streamed.
template <class Walks>
void transpose_streaming(const ConstRecords& a, const Records& b, index_t lead, int threads,
                         const LeafSet& set, const Walks& walk) {
  transpose_leaves(a.block(0, 0, lead, a.cols), b.block(0, 0, a.cols, lead), Store::cached, threads,
                   set, walk);
  transpose_leaves(a.block(lead, 0, a.rows - lead, a.cols), b.block(0, lead, a.cols, a.rows - lead),
                   Store::streaming, threads, set, walk);
}

/// Returns whether lines begin at the same elements in every row of b, so that the rest can be
/// streamed.
[[nodiscard]] inline bool rows_meet_lines(const Records& b) {
  return b.stride() % line_bytes == 0 && bytes_to_line(b.data) % b.bytes == 0;
}

/// Transposes records with a leaf: in the cache if the result stays there, otherwise streaming.
template <class Walks>
void transpose_by_leaves(const ConstRecords& a, const Records& b, int threads, const LeafSet& set,
                         const Walks& walk) {
  if (stays_in_cache(a, b)) {
    transpose_leaves(a, b, Store::cached, threads, set, walk);
  } else {
    transpose_streaming(a, b, std::min(a.rows, bytes_to_line(b.data) / b.bytes), threads, set,
                        walk);
  }
}

}  // namespace tessera::inline v1::transpose
