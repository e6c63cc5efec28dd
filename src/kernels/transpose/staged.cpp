// Short rows of b that begin anywhere in a line, one right after the other: a block of them is transposed
// into a stage in the cache and streamed from there as one run; meanwhile the source of the next one is
// prefetched, or reading and writing would take turns (100 x 100000 f64 on Zen 5: 31 GB/s, without prefetch
// 21).

#include "kernels/transpose/staged.hpp"

#include "kernels/transpose/leaf.hpp"
#include "kernels/transpose/walks.hpp"
#include "machine/fork_join.hpp"

namespace tessera::transpose {
namespace {

constexpr index_t stage_bytes =
    128 << 10;                       // on the stack of a task; inside any L2, with the next source beside it
constexpr index_t source_run = 256;  // bytes of a row of a that a stage takes
constexpr index_t stages_in_leaf = 16;  // taken in turn, each prefetching the next

/// Rows [begin, end) of a block of a, `bytes` of each, on their way into the L2.
void prefetch_rows(const std::byte* a, index_t stride, index_t bytes, index_t begin, index_t end) {
  for (index_t i = begin; i < end; ++i) {
    for (index_t k = 0; k < bytes; k += line_bytes) __builtin_prefetch(a + i * stride + k, 0, 2);
  }
}

/// The blocks of one leaf in turn: columns of a, which become rows of b that follow each other in memory.
class Stager {
 public:
  Stager(const ConstRecords& a, const Records& b)
      : a_(a),
        b_(b),
        row_bytes_(a.rows * a.bytes),
        cols_(std::min(source_run / a.bytes, stage_bytes / row_bytes_ / side(a) * side(a))),
        set_(leaf_set(machine::isa())) {}

  [[nodiscard]] LeafShape leaf() const { return {a_.rows, stages_in_leaf * cols_}; }

  void operator()(const Block& leaf) const {
    alignas(64) std::byte stage[stage_bytes];
    for (index_t left = 0; left < leaf.cols; left += cols_) {
      Block block{leaf.i, leaf.j + left, leaf.rows, std::min(cols_, leaf.cols - left)};
      set_.transpose({a_.at(block.i, block.j), a_.stride(), stage, row_bytes_, block.rows, block.cols,
                      a_.bytes, Store::cached});
      drain(block, stage, std::min(cols_, leaf.cols - left - block.cols));
    }
    set_.fence();
  }

 private:
  static index_t side(const ConstRecords& a) { return line_bytes / a.bytes; }

  /// The stage is one run: in as many pieces as the source has rows, ends on lines.
  void drain(const Block& block, const std::byte* stage, index_t next_cols) const {
    std::byte* const to = b_.at(block.j, 0);
    const index_t total = block.cols * row_bytes_;
    index_t done = 0;
    for (index_t i = 0; i < block.rows; ++i) {
      const index_t mark = total * (i + 1) / block.rows;
      const index_t stop = i + 1 == block.rows ? total : std::min(total, mark + bytes_to_line(to + mark));
      prefetch_rows(a_.at(block.i, block.j + block.cols), a_.stride(), next_cols * a_.bytes, i, i + 1);
      set_.stream(to + done, stage + done, stop - done);
      done = stop;
    }
  }

  ConstRecords a_;
  Records b_;
  index_t row_bytes_;
  index_t cols_;  ///< of a, in a stage
  const LeafSet& set_;
};

}  // namespace

bool stages_whole_rows(const Records& b) { return b.ld == b.cols && b.cols * b.bytes <= 256; }

void transpose_staged(const ConstRecords& a, const Records& b) {
  const Stager stager(a, b);
  walk_halves({0, 0, a.rows, a.cols}, stager.leaf(), stager,
              [](const Block&, const auto& left, const auto& right) { machine::fork_join(left, right); });
}

}  // namespace tessera::transpose
