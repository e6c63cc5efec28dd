#pragma once
// Memory that the ranks of a node see in common (an MPI-3 shared window).

#include "mpi/communicator.hpp"

namespace tessera::mpi {

/// One segment a rank of `node`; every rank may read and write all of them. Move only.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Segments of so many bytes, by rank of node, as every rank knows them: they begin on page
  /// borders and are uninitialised. Collective over the ranks of node, which must share memory.
  /// Throws AgreedError(memory) where the system has not the room, and Error(usage) where the MPI
  /// library shares no memory.
  SharedMemory(const Communicator& node, std::vector<index_t> sizes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  [[nodiscard]] bool there() const { return window_ != MPI_WIN_NULL; }
  /// The segment of a rank of the node; nullptr when it is empty.
  [[nodiscard]] std::byte* of(int node_rank) const {
    return segments_[static_cast<std::size_t>(node_rank)];
  }
  [[nodiscard]] index_t size_of(int node_rank) const {
    return sizes_[static_cast<std::size_t>(node_rank)];
  }

  /// Everything that any rank of the node wrote before is seen by all of them after. Collective
  /// over node.
  void fence() const;

  /// What this rank wrote before is seen by whoever hears from it after, and the other way round.
  /// Local.
  void sync() const;

  /// Whether the MPI library shares memory between these ranks, as it does not without a component
  /// for it (Open MPI's osc/sm), as this rank met it: tried with an empty window. Collective over
  /// node; they share where none of them says no.
  [[nodiscard]] static bool works_here(const Communicator& node);

  /// Touching memory for the first time makes a page of it resident; reading, those around it that
  /// are there.
  static constexpr index_t page = 4096, fault_around = 1 << 16;

  /// The bytes that this system can still give to shared segments.
  [[nodiscard]] static index_t available();

 private:
  Communicator node_ = Communicator::self();
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> segments_;
  std::vector<index_t> sizes_;
};

}  // namespace tessera::mpi
