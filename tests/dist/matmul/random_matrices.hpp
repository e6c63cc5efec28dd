#pragma once
// Random operands of distributed products, and strips of them.

#include <algorithm>

#include "dist/matmul/freivalds.hpp"
#include "dist/matmul/multiply.hpp"

namespace tessera::inline v1::dist::matmul {

template <class T>
DistributedMatrix<T> random_matrix(const mpi::Communicator& comm, const layout::MatrixLayout& homes,
                                   std::uint64_t stream, bool shared = false) {
  auto matrix =
      shared ? DistributedMatrix<T>(comm, homes, comm) : DistributedMatrix<T>(comm, homes);
  fill_random(matrix, 42, stream);
  return matrix;
}
template <class T>
DistributedMatrix<T> random_matrix(const mpi::Communicator& comm, index_t rows, index_t cols,
                                   std::uint64_t stream) {
  return random_matrix<T>(comm, layout::row_blocks(rows, cols, comm.size()), stream);
}

/// Passes over this rank's part, three rows at a time, as while a matrix is loaded.
template <class T>
class Strips : public MatrixStrips<T> {
 public:
  explicit Strips(const DistributedMatrix<T>& matrix) : matrix_(matrix) {}
  void each(const typename MatrixStrips<T>::Body& body) const override {
    const layout::Box& box = matrix_.box();
    for (index_t i = 0; i < box.rows.size(); i += 3) {
      const index_t count = std::min<index_t>(3, box.rows.size() - i), begin = box.rows.begin + i;
      body({{begin, begin + count}, box.cols}, matrix_.view().rows_range(i, count));
    }
  }

 private:
  const DistributedMatrix<T>& matrix_;
};

}  // namespace tessera::inline v1::dist::matmul
