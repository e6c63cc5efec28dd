// Blocks of records in private memory or in a window of the node.

#include "dist/records.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "layout/home.hpp"

namespace tessera::inline v1::dist {
namespace {

layout::MatrixLayout home(layout::MatrixLayout layout, index_t bytes,
                          const mpi::Communicator& comm) {
  layout::require_home(layout, comm.size(), "layout");
  require_argument(bytes >= 1 && bytes <= tessera::transpose::max_record_bytes, "bytes",
                   fmt::format("is {1}: must be in [1, {0}], the sizes of a record",
                               tessera::transpose::max_record_bytes, bytes));
  return layout;
}

/// Returns the bytes of the blocks of these ranks, for records of `bytes` bytes.
std::vector<index_t> block_bytes(const layout::MatrixLayout& layout,
                                 const std::vector<index_t>& ranks, index_t bytes) {
  std::vector<index_t> all;
  for (const index_t rank : ranks)
    all.push_back(checked_mul(layout.of(rank).area(), bytes, "size of a block"));
  return all;
}

}  // namespace

DistributedRecords::DistributedRecords(const mpi::Communicator& comm, layout::MatrixLayout layout,
                                       index_t bytes)
    : layout_(home(std::move(layout), bytes, comm)),
      box_(layout_.of(comm.rank())),
      bytes_(bytes),
      rank_(comm.rank()),
      local_(checked_mul(box_.area(), bytes, "size of a block")),
      data_(local_.data()) {}

DistributedRecords::DistributedRecords(const mpi::Communicator& comm, layout::MatrixLayout layout,
                                       index_t bytes, const mpi::Communicator& node)
    : layout_(home(std::move(layout), bytes, comm)),
      box_(layout_.of(comm.rank())),
      bytes_(bytes),
      rank_(comm.rank()),
      node_ranks_(comm.ranks_of(node)),
      window_(node, block_bytes(layout_, node_ranks_, bytes)),
      data_(window_.of(node.rank())) {}

DistributedRecords::DistributedRecords(const mpi::Communicator& comm, layout::MatrixLayout layout,
                                       index_t bytes, std::byte* data)
    : layout_(home(std::move(layout), bytes, comm)),
      box_(layout_.of(comm.rank())),
      bytes_(bytes),
      rank_(comm.rank()),
      data_(data) {}

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
  layout::require_home(layout, layout_.ranks(), "layout");
  require_argument(
      layout.of(rank_).area() == box_.area(), "layout",
      fmt::format("changes the records of rank {} from {} to {}; pass boxes of the same size",
                  rank_, box_.area(), layout.of(rank_).area()));
  layout_ = std::move(layout);
  box_ = layout_.of(rank_);
}

}  // namespace tessera::inline v1::dist
