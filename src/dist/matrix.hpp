#pragma once
// A matrix whose blocks lie on the ranks.

#include <cstdint>

#include "base/view.hpp"
#include "layout/matrix_layout.hpp"
#include "machine/buffer.hpp"
#include "mpi/communicator.hpp"

namespace tessera::dist {

/// rows x cols elements of T; this rank holds layout.of(rank), contiguous and row-major.
template <class T>
class DistributedMatrix {
 public:
  DistributedMatrix() = default;
  /// Uninitialised. The layout must be a home: disjoint boxes that cover the matrix, one a rank of comm.
  DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout)
      : layout_(std::move(layout)), box_(layout_.of(comm.rank())), local_(box_.area()) {}

  [[nodiscard]] index_t rows() const { return layout_.rows; }
  [[nodiscard]] index_t cols() const { return layout_.cols; }
  [[nodiscard]] const layout::MatrixLayout& layout() const { return layout_; }
  [[nodiscard]] const layout::Box& box() const { return box_; }  ///< this rank's, in global indices
  [[nodiscard]] MatrixView<T> view() {
    return matrix_view(local_.data(), box_.rows.size(), box_.cols.size());
  }
  [[nodiscard]] MatrixView<const T> view() const {
    return matrix_view(local_.data(), box_.rows.size(), box_.cols.size());
  }

 private:
  layout::MatrixLayout layout_;
  layout::Box box_;
  machine::Buffer<T> local_;
};

/// box = its part of a matrix of `cols` columns: uniform values in [-1, 1) from the seed and the global
/// index.
template <class T>
void fill_random(MatrixView<T> view, const layout::Box& box, index_t cols, std::uint64_t seed,
                 std::uint64_t stream);

/// Uniform values in [-1, 1) from the seed and the global index: the same matrix on any number of ranks.
template <class T>
void fill_random(DistributedMatrix<T>& matrix, std::uint64_t seed, std::uint64_t stream);

}  // namespace tessera::dist
