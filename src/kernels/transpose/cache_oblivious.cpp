// Cache-oblivious transposition by divide and conquer (Frigo et al. 1999): halves the longer side;
// the base case is a band in vector registers, whose whole lines are streamed past the caches.
// Except for the last columns of a leaf no line of a or b is accessed twice, so nothing depends on
// the capacity or the associativity of a cache.

#include "kernels/transpose/boxes.hpp"
#include "kernels/transpose/halves.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/fork_join.hpp"
#include "machine/kept.hpp"

namespace tessera::inline v1::transpose {
namespace {

/// Visits the leaves in parallel. Each thread has leaves that are adjacent in their order, since
/// rows are prefetched ahead.
constexpr auto shared_out = [](const Submatrix& block, const LeafShape& leaf, const auto& visit) {
  machine::Kept<Submatrix> kept;
  std::vector<Submatrix>& leaves = kept.all();
  list_leaves(block, leaf, leaves);
  machine::parallel_for(0, static_cast<index_t>(leaves.size()), 1,
                        [&](index_t at, index_t) { visit(leaves[static_cast<std::size_t>(at)]); });
};
constexpr auto one_by_one = [](const Submatrix& block, const LeafShape& leaf, const auto& visit) {
  machine::Kept<Submatrix> kept;
  list_leaves(block, leaf, kept.all());
  for (const Submatrix& each : kept.all()) visit(each);
};

/// Transposes by boxes: records larger than a register, and short rows of b at arbitrary offsets in
/// a line.
void transpose_by_boxes(const ConstRecords& a, const Records& b, Store store) {
  Rearrangement task;
  task.rank = 2;
  task.axis[0] = {a.cols, a.bytes, b.stride()};
  task.axis[1] = {a.rows, a.stride(), b.bytes};
  task.bytes = a.bytes;
  rearrange(task, a.data, b.data, store);
}

/// Returns whether rows of b are contiguous and have at most 256 bytes: too short to be streamed
/// one by one.
[[nodiscard]] bool needs_stage(const Records& b) {
  return b.ld == b.cols && b.cols * b.bytes <= 256;
}

/// Transposes in the caches: each thread always has the same part of the rows of b, which stays in
/// its private cache.
void transpose_in_cache(const ConstRecords& a, const Records& b, int threads) {
  const LeafSet& set = leaf_set(machine::isa());
  machine::parallel_parts(threads, [&](int part, int parts) {
    const index_t share = round_up(ceil_div(a.cols, parts), line_bytes / a.bytes);
    const index_t begin = std::min(a.cols, part * share);
    const index_t count = std::min(share, a.cols - begin);
    if (count == 0) return;
    transpose_leaves(a.block(0, begin, a.rows, count), b.block(begin, 0, count, a.rows),
                     Store::cached, 1, set, one_by_one);
  });
}

}  // namespace

void transpose_past_caches(const ConstRecords& a, const Records& b, int threads) {
  const LeafSet& set = leaf_set(machine::isa());
  if (!has_leaf(a.bytes)) {
    transpose_by_boxes(a, b, Store::streaming);
  } else if (rows_meet_lines(b)) {
    transpose_streaming(a, b, std::min(a.rows, bytes_to_line(b.data) / b.bytes), threads, set,
                        shared_out);
  } else if (b.ld == b.cols && joins_rows(b.cols, b.bytes)) {
    transpose_leaves(a, b, Store::joined, threads, set, shared_out);
  } else if (needs_stage(b)) {
    transpose_by_boxes(a, b, Store::streaming);
  } else {
    transpose_leaves(a, b, Store::carried, threads, set, shared_out);
  }
}

void cache_oblivious(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  if (a.empty()) return;
  const int threads = threads_of(tuning);
  const bool stays = stays_in_cache(a, b);
  if (stays && has_leaf(a.bytes)) return transpose_in_cache(a, b, threads);
  machine::parallel(threads, [&] {
    if (stays)
      transpose_by_boxes(a, b, Store::cached);
    else
      transpose_past_caches(a, b, threads);
  });
}

}  // namespace tessera::inline v1::transpose
