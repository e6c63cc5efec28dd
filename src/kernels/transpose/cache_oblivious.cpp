// Divide and conquer without cache sizes (Frigo et al. 1999): halve the longer side; the base case is a band
// in vector registers, whose whole lines are streamed past the caches. No line of a or b is touched twice, so
// nothing depends on what a cache holds, nor on its associativity.

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/staged.hpp"
#include "kernels/transpose/variants.hpp"
#include "machine/fork_join.hpp"

namespace tessera::transpose {
namespace {

// Up to here ordinary stores: a result and its source of 1 MiB stay in most second-level caches, where the
// next reader finds them; streaming would send them to memory. Larger ones are streamed: with ordinary stores
// n = 1000 in f64 took four times as long on Sapphire Rapids, and was no faster on Zen 5.
constexpr index_t cached_bytes = index_t{1} << 20;

// Bytes of a row of a that a strip walks along: long runs keep the prefetchers of a busy. Measured with f32
// and f64 at n = 4096, 8000 and 8192, between 128 bytes and whole rows: from a page on, and over 64 rows a
// leaf, within 5 % of the best on Sapphire Rapids and Zen 5 (896 bytes over 512 rows: 10 to 25 % less).
constexpr index_t strip_bytes = 4096;
constexpr LeafShape largest_leaf{64, 8192};

constexpr auto as_tasks = [](const auto& left, const auto& right) { machine::fork_join(left, right); };

/// Wide bands, so that a strip mostly goes on where the last one ended; narrower until every thread has about
/// four.
LeafShape leaf_shape(const ConstRecords& a, int threads) {
  LeafShape shape = largest_leaf;
  const auto leaves = [&] { return ceil_div(a.rows, shape.rows) * ceil_div(a.cols, shape.cols); };
  while (leaves() < 4 * threads && shape.cols > 256) shape.cols /= 2;
  return shape;
}

void transpose_leaves(const ConstRecords& a, const Records& b, Store store, int threads) {
  const LeafSet& set = leaf_set(machine::isa());
  const index_t strip = strip_bytes / a.bytes;
  const auto visit = [&](const Block& block) {
    set.transpose({a.at(block.i, block.j), a.stride(), b.at(block.j, block.i), b.stride(), block.rows,
                   block.cols, a.bytes, store, strip});
    if (store == Store::streaming) set.fence();
  };
  walk_halves({0, 0, a.rows, a.cols}, leaf_shape(a, threads), visit, as_tasks);
}

/// Records that fit no register: the plain loop at the leaf.
void transpose_records(const ConstRecords& a, const Records& b) {
  with_record(a.bytes, [&](auto copy) {
    const auto visit = [&](const Block& block) {
      walk_rows(block, [&](index_t i, index_t j) { copy(b.at(j, i), a.at(i, j)); });
    };
    walk_halves({0, 0, a.rows, a.cols}, {64, 64}, visit, as_tasks);
  });
}

/// Whole lines of b begin after the same few elements in every row: those by ordinary stores, the rest
/// streamed.
void transpose_streaming(const ConstRecords& a, const Records& b, index_t lead, int threads) {
  transpose_leaves(a.block(0, 0, lead, a.cols), b.block(0, 0, a.cols, lead), Store::cached, threads);
  transpose_leaves(a.block(lead, 0, a.rows - lead, a.cols), b.block(0, lead, a.cols, a.rows - lead),
                   Store::streaming, threads);
}

}  // namespace

void cache_oblivious(const ConstRecords& a, const Records& b, const Tuning& tuning) {
  if (a.empty()) return;
  const int threads = threads_of(tuning);
  machine::parallel(threads, [&] {
    const index_t lead_bytes = bytes_to_line(b.data);
    if (!has_leaf(a.bytes)) {
      transpose_records(a, b);
    } else if (a.rows * a.cols * a.bytes <= cached_bytes) {
      transpose_leaves(a, b, Store::cached, threads);
    } else if (b.stride() % line_bytes == 0 && lead_bytes % b.bytes == 0) {
      transpose_streaming(a, b, std::min(a.rows, lead_bytes / b.bytes), threads);
    } else {
      transpose_staged(a, b);
    }
  });
}

}  // namespace tessera::transpose
