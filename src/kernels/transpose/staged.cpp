// Rows of b that begin anywhere in a line cannot be streamed from registers. A block is transposed into a
// stage in the cache and streamed from there, all but the lines at its ends; meanwhile the source of the next
// one is prefetched, or reading and writing would take turns (100 x 100000 f64 on Zen 5: 31 GB/s, without
// prefetch 21).

#include "kernels/transpose/staged.hpp"

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/walks.hpp"
#include "machine/fork_join.hpp"

namespace tessera::transpose {
namespace {

constexpr index_t stage_bytes =
    128 << 10;                        // on the stack of a task; inside any L2, with the next source beside it
constexpr index_t source_run = 256;   // bytes of a row of a that a stage takes
constexpr index_t target_run = 2048;  // bytes of a row of b that it fills, where it does not fill whole rows
constexpr index_t whole_run = 2048;   // rows of b of at most so many bytes are filled whole
constexpr index_t stages_in_leaf = 16;  // taken in turn, each prefetching the next

/// How blocks of a become runs of b.
struct Geometry {
  bool whole_rows;  ///< a stage holds complete rows of b, which follow each other in memory: one run
  LeafShape leaf;
  index_t cols;   ///< of a, in a stage
  index_t pitch;  ///< bytes between rows of the stage
};

Geometry geometry_of(const ConstRecords& a, const Records& b) {
  Geometry g{};
  const index_t row_bytes = a.rows * a.bytes;
  g.whole_rows = b.ld == b.cols && row_bytes <= whole_run;
  g.leaf.rows = g.whole_rows ? a.rows : target_run / a.bytes;
  g.pitch = g.whole_rows ? row_bytes : target_run + line_bytes;            // a line more: no power of two
  const index_t side = line_bytes / a.bytes, fit = stage_bytes / g.pitch;  // of single bytes less than a line
  g.cols = std::min(source_run / a.bytes, fit < side ? fit : fit / side * side);
  g.leaf.cols = stages_in_leaf * g.cols;
  return g;
}

/// Rows [begin, end) of a block of a, `bytes` of each, on their way into the L2.
void prefetch_rows(const std::byte* a, index_t stride, index_t bytes, index_t begin, index_t end) {
  for (index_t i = begin; i < end; ++i) {
    for (index_t k = 0; k < bytes; k += line_bytes) __builtin_prefetch(a + i * stride + k, 0, 2);
  }
}

/// The blocks of one leaf in turn.
class Stager {
 public:
  Stager(const ConstRecords& a, const Records& b)
      : a_(a), b_(b), geometry_(geometry_of(a, b)), set_(leaf_set(machine::isa())) {}

  [[nodiscard]] const LeafShape& leaf() const { return geometry_.leaf; }

  void operator()(const Block& leaf) const {
    alignas(64) std::byte stage[stage_bytes];
    for (index_t left = 0; left < leaf.cols; left += geometry_.cols) {
      Block block{leaf.i, leaf.j + left, leaf.rows, std::min(geometry_.cols, leaf.cols - left)};
      set_.transpose({a_.at(block.i, block.j), a_.stride(), stage, geometry_.pitch, block.rows, block.cols,
                      a_.bytes, Store::cached});
      const index_t next = std::min(geometry_.cols, leaf.cols - left - block.cols);
      geometry_.whole_rows ? drain_whole(block, stage, next) : drain_parts(block, stage, next);
    }
    set_.fence();
  }

 private:
  /// The stage is one run: in as many pieces as the source has rows, ends on lines.
  void drain_whole(const Block& block, const std::byte* stage, index_t next_cols) const {
    std::byte* const to = b_.at(block.j, 0);
    const index_t total = block.cols * geometry_.pitch;
    index_t done = 0;
    for (index_t i = 0; i < block.rows; ++i) {
      const index_t mark = total * (i + 1) / block.rows;
      const index_t stop = i + 1 == block.rows ? total : std::min(total, mark + bytes_to_line(to + mark));
      prefetch_rows(a_.at(block.i, block.j + block.cols), a_.stride(), next_cols * a_.bytes, i, i + 1);
      set_.stream(to + done, stage + done, stop - done);
      done = stop;
    }
  }

  /// A run in every row of b.
  void drain_parts(const Block& block, const std::byte* stage, index_t next_cols) const {
    for (index_t j = 0; j < block.cols; ++j) {
      prefetch_rows(a_.at(block.i, block.j + block.cols), a_.stride(), next_cols * a_.bytes,
                    block.rows * j / block.cols, block.rows * (j + 1) / block.cols);
      set_.stream(b_.at(block.j + j, block.i), stage + j * geometry_.pitch, block.rows * a_.bytes);
    }
  }

  ConstRecords a_;
  Records b_;
  Geometry geometry_;
  const LeafSet& set_;
};

}  // namespace

void transpose_staged(const ConstRecords& a, const Records& b) {
  const Stager stager(a, b);
  walk_halves({0, 0, a.rows, a.cols}, stager.leaf(), stager,
              [](const Block&, const auto& left, const auto& right) { machine::fork_join(left, right); });
}

}  // namespace tessera::transpose
