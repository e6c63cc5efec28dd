// Squares in place, by recursion: halves the diagonal block and swaps the two off-diagonal blocks.
// The resulting leaf blocks are divided among the threads in that order.

#include "kernels/transpose/in_place.hpp"

#include <vector>

#include "kernels/transpose/halves.hpp"
#include "machine/fork_join.hpp"
#include "machine/kept.hpp"

namespace tessera::inline v1::transpose {
namespace {

constexpr index_t scratch_bytes =
    16 << 10;  // on the stack: half of a small L1; the block itself takes the other half
constexpr index_t blocks_in_task =
    16;  // adjacent leaves; two threads of Zen 5, n = 8000: one block 42 GB/s, 16 blocks 52

/// Returns the side of a square leaf block, a power of two so that its lines stay whole.
index_t leaf_side(index_t bytes) {
  index_t side = 128;
  while (side * side * bytes > scratch_bytes) side /= 2;
  return side;
}

/// Returns which blocks to prefetch: none where lines would evict each other. 8000 x 8000, GB/s,
/// one core, nothing, lower alone and both: Zen 5, f64 37, 41, 46, f32 33, 37, 46; Emerald Rapids,
/// nothing and lower, f64 17.5, 20.8, f32 13.2, 15.7, in another run nothing and both, f32 12.4,
/// 8.9. Prefetches into the second level do not evict: Zen 4, one core, the choice by the rules
/// below and both far, f64 4096 18, 24, 8000 23, 36, 8192 16, 21, f32 4000 23, 38, 8000 21, 36,
/// 8192 19, 22.
Prefetches prefetches_of(const Records& m) {
  if (machine::has_small_first_level()) return Prefetches::both_far;
  if (rows_share_sets(m.stride())) return Prefetches::nothing;
  const bool cached = stays_in_cache(m.rows * m.cols * m.bytes, m.rows * m.stride());
  return cached || has_large_second_level() ? Prefetches::lower : Prefetches::both;
}

/// The swap of all blocks across the diagonal.
class Swapper {
 public:
  explicit Swapper(const Records& m)
      : m_(m), leaf_(leaf_side(m.bytes)), prefetches_(prefetches_of(m)) {}

  void swap_all() const {
    machine::Kept<Submatrix> kept;
    std::vector<Submatrix>& blocks = kept.all();
    blocks.clear();
    diagonal(0, m_.rows, blocks);
    machine::parallel_for(0, static_cast<index_t>(blocks.size()), 1, [&](index_t at, index_t) {
      const Submatrix& block = blocks[static_cast<std::size_t>(at)];
      for (index_t right = 0; right < block.cols; right += leaf_)
        swap_leaf(block.i, block.j + right, block.rows, std::min(leaf_, block.cols - right));
    });
  }

 private:
  /// Appends the blocks of the square at (i, i): its diagonal leaves and its off-diagonal blocks.
  void diagonal(index_t i, index_t n, std::vector<Submatrix>& blocks) const {
    if (n <= leaf_) {
      blocks.push_back({i, i, n, n});
      return;
    }
    const index_t half = halve(n, leaf_);
    diagonal(i, half, blocks);
    diagonal(i + half, n - half, blocks);
    swap(i, i + half, half, n - half, blocks);
  }
  /// Appends the block m[i:i+rows, j:j+cols], to be swapped with m[j:j+cols, i:i+rows], which is
  /// disjoint from it.
  void swap(index_t i, index_t j, index_t rows, index_t cols,
            std::vector<Submatrix>& blocks) const {
    if (rows <= leaf_ && cols <= blocks_in_task * leaf_) {
      blocks.push_back({i, j, rows, cols});
    } else if (rows * blocks_in_task >= cols) {
      const index_t half = halve(rows, leaf_);
      swap(i, j, half, cols, blocks);
      swap(i + half, j, rows - half, cols, blocks);
    } else {
      const index_t half = halve(cols, leaf_);
      swap(i, j, rows, half, blocks);
      swap(i, j + half, rows, cols - half, blocks);
    }
  }

  /// Swaps two leaf blocks: whole squares directly, the remainder through scratch.
  void swap_leaf(index_t i, index_t j, index_t rows, index_t cols) const {
    if (!has_leaf(m_.bytes)) return swap_by_scratch(i, j, rows, cols);
    const index_t side = line_bytes / m_.bytes;
    const index_t down = rows / side * side, right = cols / side * side;
    leaf_set(machine::isa())
        .swap({m_.at(i, j), m_.at(j, i), m_.stride(), down, right, m_.bytes, prefetches_});
    swap_by_scratch(i, j + right, down, cols - right);
    swap_by_scratch(i + down, i == j ? j + right : j, rows - down, i == j ? cols - right : cols);
  }

  /// Swaps two blocks through a scratch block that holds one side, transposed.
  void swap_by_scratch(index_t i, index_t j, index_t rows, index_t cols) const {
    if (rows == 0 || cols == 0) return;
    alignas(64) std::byte scratch[scratch_bytes];
    const Records upper = m_.block(i, j, rows, cols);
    const Records lower = m_.block(j, i, cols, rows);
    const Records waiting{scratch, cols, rows, rows, m_.bytes};
    transpose_block(upper, waiting);
    if (i != j) transpose_block(lower, upper);
    for (index_t row = 0; row < cols; ++row) {
      std::memcpy(lower.at(row, 0), waiting.at(row, 0), static_cast<std::size_t>(rows * m_.bytes));
    }
  }

  Records m_;
  index_t leaf_;
  Prefetches prefetches_;
};

}  // namespace

void transpose_block(const ConstRecords& a, const Records& b) {
  if (has_leaf(a.bytes)) {
    leaf_set(machine::isa())
        .transpose(
            {a.data, a.stride(), b.data, b.stride(), a.rows, a.cols, a.bytes, Store::cached, 64});
    return;
  }
  with_record(a.bytes, [&](auto copy) {
    walk_halves(
        {0, 0, a.rows, a.cols}, {64, 64},
        [&](const Submatrix& block) {
          walk_rows(block, [&](index_t i, index_t j) { copy(b.at(j, i), a.at(i, j)); });
        },
        [](const Submatrix&, const auto& left, const auto& right) {
          left();
          right();
        });
  });
}

void in_place_square(const Records& m, const Tuning& tuning) {
  TESSERA_EXPECTS(m.rows == m.cols);
  const Swapper swapper(m);
  machine::parallel(threads_of(tuning), [&] { swapper.swap_all(); });
}

void in_place(std::byte* data, index_t rows, index_t cols, index_t bytes, const Tuning& tuning) {
  if (rows == cols) {
    in_place_square({data, rows, cols, cols, bytes}, tuning);
  } else if (rows > 1 && cols > 1) {  // a single row and a single column are the same bytes
    const ChunkPlan plan = chunk_plan(std::min(rows, cols), std::max(rows, cols), bytes);
    uses_chunks(plan, bytes, threads_of(tuning))
        ? in_place_chunks(data, rows, cols, bytes, tuning)
        : in_place_rectangle(data, rows, cols, bytes, tuning);
  }
}

}  // namespace tessera::inline v1::transpose
