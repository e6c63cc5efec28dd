#pragma once
// Memory shared by the ranks of a node (an MPI-3 shared window).

#include "mpi/communicator.hpp"

namespace tessera::inline v1::mpi {

/// One segment per rank of `node`; every rank may read and write all of them. Move only.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Segments of the given bytes, by rank of node, as every rank knows them: they begin on page
  /// borders and are uninitialised. Collective over the ranks of node, which must share memory.
  /// Throws AgreedError(memory) where the system has not the room, and Error(usage) where the MPI
  /// library shares no memory.
  SharedMemory(const Communicator& node, std::vector<index_t> sizes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  [[nodiscard]] bool there() const { return window_ != MPI_WIN_NULL; }
  /// Returns the segment of a rank of the node.
  [[nodiscard]] std::byte* of(int node_rank) const {
    return segments_[static_cast<std::size_t>(node_rank)];
  }
  [[nodiscard]] index_t size_of(int node_rank) const {
    return sizes_[static_cast<std::size_t>(node_rank)];
  }

  /// Makes all earlier writes of any rank of the node visible to all of them. Collective over node.
  void fence() const;

  /// Makes earlier writes of this rank visible to ranks that synchronise with it later, and theirs
  /// to it. Local.
  void sync() const;

  /// Returns whether the MPI library can share memory between these ranks, tried with a window of a
  /// page per rank (it cannot without a component for it, such as Open MPI's osc/sm). The result is
  /// this rank's: memory can be shared if all ranks return true. Collective over node.
  [[nodiscard]] static bool works_here(const Communicator& node);

  /// A first write makes one page resident; a first read also maps existing pages around it.
  static constexpr index_t page = 4096, fault_around = 1 << 16;

  /// Returns the bytes available to shared segments on this system.
  [[nodiscard]] static index_t available();

 private:
  Communicator node_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> segments_;
  std::vector<index_t> sizes_;
};

}  // namespace tessera::inline v1::mpi
