#pragma once
// Halos within a node: every rank lays out what its neighbours take in a shared window, and they
// read it there.

#include <memory>

#include "dist/stencil/field.hpp"
#include "mpi/shared_memory.hpp"

namespace tessera::dist::stencil {

/// Room in the node's shared memory for what a rank sends in one exchange, twice. The fields
/// themselves stay in the ranks' own memory, on huge pages; a packed layer costs one copy on either
/// side, and none in between.
///
/// Why twice: a rank that begins exchange e has what its neighbours laid out in exchange e - 1, so
/// they had begun that one, so they had read everything of e - 2, whose room e takes. Halos are
/// mutual.
template <class T>
class HaloWindow {
 public:
  /// Collective over comm. Room for exchanges of u's halo steps. Throws AgreedError(memory) on
  /// every rank of a node whose shared memory has not the room.
  HaloWindow(const mpi::Communicator& comm, const DistributedField<T>& u);

  /// The next exchange takes the other half. Every rank calls it as often.
  void turn() { half_ = 1 - half_; }
  /// What this rank sends in the exchange under way.
  [[nodiscard]] T* mine() { return half_of(node_rank_); }
  /// What a rank of comm sends in it; nullptr on another node.
  [[nodiscard]] const T* of(index_t rank) const;
  /// What was written before a message is seen after it.
  void sync() const { memory_.sync(); }

 private:
  [[nodiscard]] T* half_of(int node_rank) const;

  mpi::Communicator node_;
  int node_rank_;
  std::vector<index_t> members_;  ///< ranks of comm by rank of the node
  mpi::SharedMemory memory_;
  index_t half_ = 0;
};

}  // namespace tessera::dist::stencil
