#pragma once
// Halos within a node: every rank packs its neighbours' halos in a shared window, from which they
// read.

#include <memory>

#include "dist/stencil/field.hpp"
#include "mpi/shared_memory.hpp"

namespace tessera::inline v1::dist::stencil {

/// Buffers in the node's shared memory for what a rank sends in one exchange, twice (double
/// buffering). The fields themselves stay in the ranks' private memory, on huge pages; a packed
/// layer costs one copy on either side and none in between.
///
/// Two halves suffice: a rank that starts exchange e has read what its neighbours packed in
/// exchange e - 1; the neighbours had started that exchange, so they had read everything of e - 2,
/// whose half e reuses. Halos are mutual.
template <class T>
class HaloWindow {
 public:
  /// Allocates for exchanges of u's halo steps. Throws AgreedError(memory) on every rank of a node
  /// whose shared memory is insufficient. Collective over comm.
  HaloWindow(const mpi::Communicator& comm, const DistributedField<T>& u);

  /// Switches to the other half for the next exchange. Every rank calls it equally often.
  void turn() { half_ = 1 - half_; }
  /// Returns the buffer of what this rank sends in the current exchange.
  [[nodiscard]] T* mine() { return half_of(node_rank_); }
  /// Returns the buffer of what a rank of comm sends in it; nullptr on another node.
  [[nodiscard]] const T* of(index_t rank) const;
  /// Makes writes before a message visible after it.
  void sync() const { memory_.sync(); }

 private:
  [[nodiscard]] T* half_of(int node_rank) const;

  mpi::Communicator node_;
  int node_rank_;
  std::vector<index_t> members_;  ///< ranks of comm by rank of the node
  mpi::SharedMemory memory_;
  index_t half_ = 0;
};

}  // namespace tessera::inline v1::dist::stencil
