#include "dist/records.hpp"

#include <algorithm>

namespace tessera::dist {

DistributedRecords::DistributedRecords(const mpi::Communicator& comm, layout::MatrixLayout layout,
                                       index_t bytes)
    : layout_(std::move(layout)),
      box_(layout_.of(comm.rank())),
      bytes_(bytes),
      rank_(comm.rank()),
      local_(checked_mul(box_.area(), bytes, "a block")),
      data_(local_.data()) {}

DistributedRecords::DistributedRecords(const mpi::Communicator& comm, layout::MatrixLayout layout,
                                       index_t bytes, const mpi::Communicator& node)
    : layout_(std::move(layout)),
      box_(layout_.of(comm.rank())),
      bytes_(bytes),
      rank_(comm.rank()),
      window_(node, checked_mul(box_.area(), bytes, "a block")),
      data_(window_.of(node.rank())),
      node_ranks_(node.all_gather(index_t{comm.rank()})) {}

std::optional<int> DistributedRecords::node_rank_of(index_t rank) const {
  if (!shared()) return rank == rank_ ? std::optional(0) : std::nullopt;
  const auto found = std::find(node_ranks_.begin(), node_ranks_.end(), rank);
  if (found == node_ranks_.end()) return std::nullopt;
  return static_cast<int>(found - node_ranks_.begin());
}

Records DistributedRecords::block_of(index_t rank) {
  if (rank == rank_) return view();
  return view_of(window_.of(node_rank_of(rank).value()), layout_.of(rank));
}

void DistributedRecords::fence() const {
  if (shared()) window_.fence();
}

void DistributedRecords::rename(layout::MatrixLayout layout) {
  TESSERA_EXPECTS(layout.of(rank_).area() == box_.area());
  layout_ = std::move(layout);
  box_ = layout_.of(rank_);
}

}  // namespace tessera::dist
