#pragma once
// A matrix distributed in blocks over the ranks.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

#include "base/foreign.hpp"
#include "base/view.hpp"
#include "layout/matrix_layout.hpp"
#include "machine/buffer.hpp"
#include "mpi/communicator.hpp"
#include "mpi/shared_memory.hpp"

namespace tessera::inline v1::dist {

/// Memory that all ranks of a node share, for several matrices: one window, since a window per
/// matrix would multiply the messages of its allocation.
class SharedRoom {
 public:
  /// Allocates `bytes` bytes. Precondition: the ranks of node share memory. Throws as
  /// mpi::SharedMemory. Collective over node.
  SharedRoom(const mpi::Communicator& node, index_t bytes);

  /// Returns the bytes that matrices of these sizes need together.
  [[nodiscard]] static index_t bytes_for(std::initializer_list<index_t> matrices);
  /// Returns the next bytes, page-aligned; call it in the same order on every rank.
  [[nodiscard]] std::byte* take(index_t bytes);
  void sync() const { memory_.sync(); }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  mpi::SharedMemory memory_;
  int ranks_;
  index_t taken_ = 0, bytes_;
};

/// rows x cols elements of T; this rank holds layout.of(rank), contiguous and row-major.
template <class T>
class DistributedMatrix {
 public:
  DistributedMatrix() = default;
  /// Allocates uninitialised memory. The layout must be a home: disjoint boxes that cover the
  /// matrix, one per rank of comm; otherwise throws Error(usage).
  DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout);
  /// As above, as one matrix in memory that all ranks of `node` share; they must be those of comm,
  /// and the boxes whole rows in the order of ranks. Throws Error(usage) for other layouts or
  /// nodes, and Error(memory) if the system has insufficient memory. Collective.
  DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout,
                    const mpi::Communicator& node);
  /// As above, in a window that several matrices use. Local.
  DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout,
                    std::shared_ptr<SharedRoom> room);

  /// Refers to the caller's memory of this rank's box, contiguous and row-major, which must outlive
  /// the matrix. The layout is as above. Local.
  DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout, T* data);

  [[nodiscard]] index_t rows() const { return layout_.rows; }
  [[nodiscard]] index_t cols() const { return layout_.cols; }
  [[nodiscard]] const layout::MatrixLayout& layout() const { return layout_; }
  [[nodiscard]] const layout::Box& box() const { return box_; }  ///< this rank's, in global indices
  [[nodiscard]] MatrixView<T> view() {
    return matrix_view(data_, box_.rows.size(), box_.cols.size());
  }
  [[nodiscard]] MatrixView<const T> view() const {
    return matrix_view<const T>(data_, box_.rows.size(), box_.cols.size());
  }

  [[nodiscard]] bool shared() const { return room_ != nullptr; }
  /// Returns the whole matrix; shared() only. Other ranks' blocks may be accessed after a barrier
  /// between two calls of sync() only.
  [[nodiscard]] MatrixView<T> whole() { return matrix_view(whole_, rows(), cols()); }
  [[nodiscard]] MatrixView<const T> whole() const {
    return matrix_view<const T>(whole_, rows(), cols());
  }
  /// Makes this rank's earlier writes visible to ranks that it synchronises with afterwards, and
  /// theirs to it. Local.
  void sync() const {
    if (shared()) room_->sync();
  }

 private:
  layout::MatrixLayout layout_;
  layout::Box box_;
  machine::Buffer<T> local_;
  std::shared_ptr<SharedRoom> room_;
  T* whole_ = nullptr;
  T* data_ = nullptr;  ///< of this rank's box
};

/// A matrix of numbers under others' names (std::complex, _Float16, __half): one of Tessera's
/// numbers, seen as those. Functions that take a matrix of Tessera's numbers take it as well.
template <class T>
requires is_foreign<T>
class DistributedMatrix<T> : public DistributedMatrix<Own<T>> {
  using Base = DistributedMatrix<Own<T>>;

 public:
  DistributedMatrix() = default;
  DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout)
      : Base(comm, std::move(layout)) {}
  DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout,
                    const mpi::Communicator& node)
      : Base(comm, std::move(layout), node) {}
  DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout,
                    std::shared_ptr<SharedRoom> room)
      : Base(comm, std::move(layout), std::move(room)) {}
  DistributedMatrix(const mpi::Communicator& comm, layout::MatrixLayout layout, T* data)
      : Base(comm, std::move(layout), reinterpret_cast<Own<T>*>(data)) {}

  [[nodiscard]] MatrixView<T> view() { return seen(Base::view()); }
  [[nodiscard]] MatrixView<const T> view() const { return seen(Base::view()); }
  [[nodiscard]] MatrixView<T> whole() { return seen(Base::whole()); }
  [[nodiscard]] MatrixView<const T> whole() const { return seen(Base::whole()); }

 private:
  static MatrixView<T> seen(const MatrixView<Own<T>>& x) {
    return {reinterpret_cast<T*>(x.data), x.rows, x.cols, x.ld};
  }
  static MatrixView<const T> seen(const MatrixView<const Own<T>>& x) {
    return {reinterpret_cast<const T*>(x.data), x.rows, x.cols, x.ld};
  }
};

/// Fills box, a part of a matrix of `cols` columns, with uniform values in [-1, 1) from the seed
/// and the global index.
template <class T>
void fill_random(MatrixView<T> view, const layout::Box& box, index_t cols, std::uint64_t seed,
                 std::uint64_t stream);

/// Fills the matrix with uniform values in [-1, 1) from the seed and the global index: the same on
/// any number of ranks.
template <class T>
void fill_random(DistributedMatrix<T>& matrix, std::uint64_t seed, std::uint64_t stream);
template <class T>
requires is_foreign<T>
void fill_random(DistributedMatrix<T>& matrix, std::uint64_t seed, std::uint64_t stream) {
  fill_random<Own<T>>(matrix, seed, stream);
}

}  // namespace tessera::inline v1::dist
