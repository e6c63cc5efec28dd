#include "kernels/matmul/checksum.hpp"

#include <algorithm>

#include "kernels/matmul/checksum_leaf.hpp"
#include "machine/fork_join.hpp"

namespace tessera::matmul {
namespace {

constexpr index_t piece = 32768;       // elements a task reads: some 10 us at memory bandwidth
constexpr index_t column_block = 512;  // y and its bound for 4 vectors: 32 KiB, kept near while the rows pass

}  // namespace

template <class T>
void multiply_vectors(MatrixView<const T> a, Op op, const Vectors& vectors) {
  TESSERA_EXPECTS(vectors.x.rows >= 1 && vectors.x.rows <= max_vectors);
  if (a.empty()) return;
  const ChecksumKernels<T>& leaf = checksum_kernels<T>(machine::isa());
  const auto part = [&](index_t begin, index_t end) {
    return Vectors{vectors.x, vectors.abs_x, vectors.y.cols_range(begin, end - begin),
                   vectors.bound.cols_range(begin, end - begin)};
  };
  if (op == Op::none) {
    machine::parallel_for(0, a.rows, std::max<index_t>(1, piece / a.cols), [&](index_t begin, index_t end) {
      leaf.rows(a.rows_range(begin, end - begin), part(begin, end));
    });
  } else {
    machine::parallel_for(0, a.cols, column_block, [&](index_t begin, index_t end) {
      leaf.columns(a.cols_range(begin, end - begin), part(begin, end));
    });
  }
}

template void multiply_vectors(MatrixView<const float>, Op, const Vectors&);
template void multiply_vectors(MatrixView<const double>, Op, const Vectors&);

}  // namespace tessera::matmul
