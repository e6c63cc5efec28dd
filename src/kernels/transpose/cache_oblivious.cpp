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

}  // namespace

void cache_oblivious(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  if (a.empty()) return;
  const int threads = threads_of(tuning);
  machine::parallel(threads, [&] {
    if (!has_leaf(a.bytes)) {
      transpose_records(a, b);
    } else if (a.rows * a.cols * a.bytes <= cached_bytes || rows_meet_lines(b)) {
      transpose_by_leaves(a, b, threads, leaf_set(machine::isa()), as_tasks);
    } else if (stages_whole_rows(b)) {
      transpose_staged(a, b);
    } else {
      transpose_leaves(a, b, Store::carried, threads, leaf_set(machine::isa()), as_tasks);
    }
  });
}

}  // namespace tessera::transpose
