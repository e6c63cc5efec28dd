#pragma once
// A matrix of opaque records distributed in blocks over the ranks.

#include <optional>

#include "kernels/transpose/records.hpp"
#include "layout/matrix_layout.hpp"
#include "machine/buffer.hpp"
#include "mpi/communicator.hpp"
#include "mpi/shared_memory.hpp"

namespace tessera::inline v1::dist {

using tessera::transpose::ConstRecords;
using tessera::transpose::Records;

/// rows x cols records of `bytes` bytes; this rank holds layout.of(rank), contiguous and row-major.
class DistributedRecords {
 public:
  DistributedRecords() = default;
  /// Allocates uninitialised private memory. The layout must be a home: disjoint boxes that cover
  /// the matrix, one per rank of comm; records have 1 to 64 bytes. Throws Error(usage) otherwise,
  /// as all functions here.
  DistributedRecords(const mpi::Communicator& comm, layout::MatrixLayout layout, index_t bytes);
  /// As above, in memory that the ranks of `node` (a part of comm that shares memory) share.
  /// Collective over comm.
  DistributedRecords(const mpi::Communicator& comm, layout::MatrixLayout layout, index_t bytes,
                     const mpi::Communicator& node);
  /// Refers to the caller's memory of this rank's box, contiguous and row-major, which must outlive
  /// the records. Local.
  DistributedRecords(const mpi::Communicator& comm, layout::MatrixLayout layout, index_t bytes,
                     std::byte* data);

  [[nodiscard]] index_t rows() const { return layout_.rows; }
  [[nodiscard]] index_t cols() const { return layout_.cols; }
  [[nodiscard]] index_t bytes() const { return bytes_; }  ///< of a record
  [[nodiscard]] const layout::MatrixLayout& layout() const { return layout_; }
  [[nodiscard]] const layout::Box& box() const { return box_; }  ///< this rank's, in global indices
  [[nodiscard]] Records view() { return view_of(data_, box_); }
  [[nodiscard]] ConstRecords view() const { return view_of(data_, box_); }

  [[nodiscard]] bool shared() const { return window_.there(); }
  /// Returns whether this rank can access the block of a rank of comm: its own, or one in shared
  /// memory.
  [[nodiscard]] bool reaches(index_t rank) const { return node_rank_of(rank).has_value(); }
  [[nodiscard]] Records block_of(index_t rank);  ///< Precondition: reaches(rank)
  /// Makes the writes of the node's ranks visible to all of them. No-op unless shared(). Collective
  /// over the node.
  void fence() const;

  /// Replaces the layout by one with boxes of the same size, as after a transpose in place.
  void rename(layout::MatrixLayout layout);

 private:
  [[nodiscard]] Records view_of(std::byte* data, const layout::Box& box) const {
    return {data, box.rows.size(), box.cols.size(), box.cols.size(), bytes_};
  }
  [[nodiscard]] std::optional<int> node_rank_of(index_t rank) const;

  layout::MatrixLayout layout_;
  layout::Box box_;
  index_t bytes_ = 1;
  index_t rank_ = 0;
  machine::Buffer<std::byte> local_;
  std::vector<index_t> node_ranks_;  ///< of comm, by rank of the node
  mpi::SharedMemory window_;
  std::byte* data_ = nullptr;
};

}  // namespace tessera::inline v1::dist
