// Divide and conquer without cache sizes (Frigo et al. 1999): halve the longer side; the base case is a band
// in vector registers, whose whole lines are streamed past the caches. But for the last columns of a leaf no
// line of a or b is touched twice, so nothing depends on what a cache holds, nor on its associativity.

#include "kernels/transpose/halves.hpp"
#include "kernels/transpose/staged.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::transpose {
namespace {

constexpr auto as_tasks = [](const Block&, const auto& left, const auto& right) {
  machine::fork_join(left, right);
};

/// Records that fit no register: the plain loop at the leaf.
void transpose_records(const ConstRecords& a, const Records& b) {
  with_record(a.bytes, [&](auto copy) {
    const auto visit = [&](const Block& block) {
      walk_rows(block, [&](index_t i, index_t j) { copy(b.at(j, i), a.at(i, j)); });
    };
    walk_halves({0, 0, a.rows, a.cols}, {64, 64}, visit, as_tasks);
  });
}

/// A part of the rows of b for each thread, always the same: they lie in its own cache.
void transpose_in_cache(const ConstRecords& a, const Records& b, int threads) {
  const LeafSet& set = leaf_set(machine::isa());
  machine::parallel_parts(threads, [&](int part, int parts) {
    const index_t share = round_up(ceil_div(a.cols, parts), line_bytes / a.bytes);
    const index_t begin = std::min(a.cols, part * share);
    const index_t count = std::min(share, a.cols - begin);
    if (count == 0) return;
    transpose_leaves(a.block(0, begin, a.rows, count), b.block(begin, 0, count, a.rows), Store::cached, 1,
                     set, [](const Block&, const auto& left, const auto& right) {
                       left();
                       right();
                     });
  });
}

}  // namespace

void cache_oblivious(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  if (a.empty()) return;
  const int threads = threads_of(tuning);
  if (has_leaf(a.bytes) && stays_in_cache(a, b)) return transpose_in_cache(a, b, threads);
  machine::parallel(threads, [&] {
    if (!has_leaf(a.bytes)) {
      transpose_records(a, b);
    } else if (rows_meet_lines(b)) {
      transpose_by_leaves(a, b, threads, leaf_set(machine::isa()), as_tasks);
    } else if (stages_whole_rows(b)) {
      transpose_staged(a, b);
    } else {
      transpose_leaves(a, b, Store::carried, threads, leaf_set(machine::isa()), as_tasks);
    }
  });
}

}  // namespace tessera::transpose
