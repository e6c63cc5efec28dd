// Squares in place: halve the diagonal block, swap the two blocks beside the diagonal; all of it as tasks.

#include "kernels/transpose/in_place.hpp"

#include "kernels/transpose/leaf.hpp"
#include "machine/fork_join.hpp"

namespace tessera::transpose {
namespace {

constexpr index_t scratch_bytes =
    16 << 10;  // a stack block: half of a small L1, the other half is the block itself

/// The side of a square leaf block, a power of two so that its lines stay whole.
index_t leaf_side(index_t bytes) {
  index_t side = 128;
  while (side * side * bytes > scratch_bytes) side /= 2;
  return side;
}

/// Swaps blocks across the diagonal.
class Swapper {
 public:
  explicit Swapper(const Records& m)
      : m_(m), leaf_(leaf_side(m.bytes)), transpose_(leaf_set(machine::isa()).transpose) {}

  /// The square block at (i, i).
  void diagonal(index_t i, index_t n) const {
    if (n <= leaf_) {
      swap_leaf(i, i, n, n);
      return;
    }
    const index_t half = halve(n, leaf_);
    machine::fork_join(
        [&] { machine::fork_join([&] { diagonal(i, half); }, [&] { diagonal(i + half, n - half); }); },
        [&] { swap(i, i + half, half, n - half); });
  }

 private:
  /// m[i:i+rows, j:j+cols] and m[j:j+cols, i:i+rows], apart from each other.
  void swap(index_t i, index_t j, index_t rows, index_t cols) const {
    if (rows <= leaf_ && cols <= leaf_) {
      swap_leaf(i, j, rows, cols);
    } else if (rows >= cols) {
      const index_t half = halve(rows, leaf_);
      machine::fork_join([&] { swap(i, j, half, cols); }, [&] { swap(i + half, j, rows - half, cols); });
    } else {
      const index_t half = halve(cols, leaf_);
      machine::fork_join([&] { swap(i, j, rows, half); }, [&] { swap(i, j + half, rows, cols - half); });
    }
  }

  /// Through a scratch block: one side waits there, transposed, while the other takes its place.
  void swap_leaf(index_t i, index_t j, index_t rows, index_t cols) const {
    alignas(64) std::byte scratch[scratch_bytes];
    const Records upper = m_.block(i, j, rows, cols);
    const Records lower = m_.block(j, i, cols, rows);
    const Records waiting{scratch, cols, rows, rows, m_.bytes};
    move(upper, waiting);
    if (i != j) move(lower, upper);
    for (index_t row = 0; row < cols; ++row) {
      std::memcpy(lower.at(row, 0), waiting.at(row, 0), static_cast<std::size_t>(rows * m_.bytes));
    }
  }

  void move(const ConstRecords& a, const Records& b) const {
    if (has_leaf(a.bytes)) {
      transpose_({a.data, a.stride(), b.data, b.stride(), a.rows, a.cols, a.bytes, Store::cached});
      return;
    }
    with_record(a.bytes, [&](auto copy) {
      walk_rows({0, 0, a.rows, a.cols}, [&](index_t i, index_t j) { copy(b.at(j, i), a.at(i, j)); });
    });
  }

  Records m_;
  index_t leaf_;
  void (*transpose_)(const Leaf&);
};

}  // namespace

void in_place_square(const Records& m, const Tuning& tuning) {
  TESSERA_EXPECTS(m.rows == m.cols);
  const Swapper swapper(m);
  machine::parallel(threads_of(tuning), [&] { swapper.diagonal(0, m.rows); });
}

void in_place(std::byte* data, index_t rows, index_t cols, index_t bytes, const Tuning& tuning) {
  if (rows == cols) {
    in_place_square({data, rows, cols, cols, bytes}, tuning);
  } else if (rows > 1 && cols > 1) {  // a single row and a single column are the same bytes
    in_place_rectangle(data, rows, cols, bytes, tuning);
  }
}

}  // namespace tessera::transpose
